// Views whose scripts are fetched when they are first shown.
import { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [, tick] = useState(0);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then((view) => { loaded = view; tick((n) => n + 1); }, () => setFailed(true));
    }, []);
    if (loaded) { const View = loaded; return <View {...props} />; }
    if (failed) return <p class="problem" role="alert">This view could not be fetched from the server. <button onClick={() => location.reload()}>Reload the page</button></p>;
    return <p class="soft loading">Loading ...</p>;
  };
}
