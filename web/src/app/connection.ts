// Messages to the server over one WebSocket, each with a promise of its last answer.
export type Answer = Record<string, any> & { id: number; type: string };

interface Waiting { resolve: (answer: Answer) => void; progress?: (answer: Answer) => void }

export class Connection {
  private socket: WebSocket | null = null;
  private waiting = new Map<number, Waiting>();
  private nextId = 1;
  private unsent: string[] = [];
  private retry = 0;

  constructor(private readonly token: string, private readonly onState: (connected: boolean) => void) { this.open(); }

  private open() {
    const socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(this.token)}`);
    this.socket = socket;
    socket.onopen = () => {
      this.retry = 0;
      this.onState(true);
      for (const line of this.unsent.splice(0)) socket.send(line);
    };
    socket.onmessage = (event) => this.take(JSON.parse(event.data as string) as Answer);
    socket.onclose = () => {
      this.onState(false);
      const lost = [...this.waiting];
      this.waiting.clear();
      this.unsent = [];
      for (const [id, w] of lost) w.resolve({ id, type: "lost" });
      setTimeout(() => this.open(), Math.min(5000, 250 * 2 ** this.retry++));
    };
  }

  private take(answer: Answer) {
    const w = this.waiting.get(answer.id);
    if (!w) return;
    if (answer.type === "progress") return w.progress?.(answer);
    this.waiting.delete(answer.id);
    w.resolve(answer);
  }

  ask(type: string, body: object = {}, progress?: (answer: Answer) => void): Promise<Answer> & { id: number } {
    const id = this.nextId++;
    const line = JSON.stringify({ ...body, id, type });
    const promise = new Promise<Answer>((resolve) => this.waiting.set(id, { resolve, progress }));
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(line);
    else this.unsent.push(line);
    return Object.assign(promise, { id });
  }

  cancel(id: number) { void this.ask("cancel", { of: id }); }
}
