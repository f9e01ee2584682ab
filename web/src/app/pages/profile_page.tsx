// The page of `distsim profile --html`.
import { useState } from "preact/hooks";
import { Profile, ProfileSteps, ProfileTables } from "../report/profile_view";
import { About, Frame } from "./frame";

export interface ProfileData { kind: "profile"; profile: Profile }

export function ProfilePage({ data: { profile } }: { data: ProfileData }) {
  const [rank, setRank] = useState(0);
  const files = [...new Set(profile.ranks.map((r) => r.file.split("/").pop()!))];
  return (
    <Frame title={`Profile of ${profile.ranks.length} ${profile.ranks.length === 1 ? "rank" : "ranks"}`} under={`${files.slice(0, 4).join(", ")}${files.length > 4 ? `, and ${files.length - 4} more` : ""}`} made="Measured; read by distsim profile.">
      <ProfileSteps profile={profile} rank={rank} onRank={setRank} />
      <ProfileTables profile={profile} rank={rank} />
      <About>Everything on this page was measured by the profiler that wrote the trace. Steps, gaps and overheads are defined in docs/profile.md. TFLOP/s and GB/s are of ops whose shapes were recorded.</About>
    </Frame>
  );
}
