// What the server says (docs/serve.md).
export interface KeyDoc { key: string; type: string; range: string; default: string; doc: string; min?: number; max?: number; choices?: string[] }
export interface Section { name: string; doc: string; keys: KeyDoc[] }
export interface Choice { name: string; text: string; ok: boolean }
export interface Lists { systems: Choice[]; models: Choice[]; frameworks: Choice[] }
export type Value = [text: string, where: string, number?: number];
export type Values = Record<string, Value>;
export interface Edit { key: string; value: string | null }
export interface Problem { text: string; what: string; where: string; hint: string; line?: number; column?: number }
export interface Split { compute_ms: number; exposed_comm_ms: number; waiting_ms: number; host_bound_ms: number; idle_ms: number; comm_ms: number; hidden_comm_ms: number }
export interface Collective { name: string; kind: string; group_size: number; calls: number; bytes: number; transfer_ms: number; waiting_ms: number; exposed_ms: number; busbw_GBps: number; basis: string; source: string }
export interface PathStep { name: string; kind: string; phase: string; stream: string; rank: number; start_ms: number; time_ms: number; steps: number; basis: string }
export interface Report {
  context: { title: string; system: string; device: string; model: string; framework: string; nodes: number; gpus_per_node: number; ranks: number; samples_per_iteration: number; placement: string };
  iteration_ms: number; low_ms: number; high_ms: number; samples_per_second: number; achieved_tflops_per_gpu: number; mfu: number; hfu: number;
  tokens?: { tokens_per_second: number; tokens_per_second_per_gpu: number; memory: { rank: number; bytes: Record<string, number> }[] };
  breakdown: Split; limited_by: string | null; runner_up: string | null; slack_ms: number;
  cycle: { resource: string; time_ms: number }[];
  ops: { kind: string; time_ms: number; kernels: number; tflops: number }[];
  collectives: Collective[]; critical_path: PathStep[]; path_steps?: number; cycle_closed: boolean; basis_share: Record<string, number>;
  ranks: { alike: boolean; slowest: number; fastest: number; times: Split[] };
  memory: { capacity_bytes: number; used_bytes_per_rank: number[] };
  assumptions: string[]; assumption_kinds: string[];
}
export interface Shown { text: string; report: Report; values: Values }
export interface Track { process: string; thread: string; rank: number; alike?: number; like?: number; slices?: number[] }
export interface SliceName { name: string; category: string; args: Record<string, string> }
export interface Timeline { period: number; from: number; to: number; columns: number; first: number; total: number; categories: string[]; tracks: Track[]; names?: [name: string, category: number, args?: number][]; arg_sets?: Record<string, string>[]; left_out: string; cycle_start: number }
export interface SweepPoint { index: number; values: string[]; iteration_ms?: number; low_ms?: number; high_ms?: number; samples_per_s?: number; memory_gb?: number; exposed_comm_ms?: number; mfu?: number; gpus?: number; fits?: boolean; limited_by?: string; error?: string }
export interface SensitivityPoint { factor: number | "inf"; iteration_ms?: number; limited_by?: string; error?: string; change?: number }
export interface SensitivityRow { name: string; points: SensitivityPoint[]; elasticity: number | null; note?: string; keys?: string[]; sentence?: string }
