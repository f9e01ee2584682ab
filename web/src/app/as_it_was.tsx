// Of a result that stays while the experiment is edited: that it is of another text than the one shown now.
import { Store } from "./store";

export function AsItWas({ store, text }: { store: Store; text: string }) {
  return text !== "" && text !== store.shown?.text ? <p class="small soft as-it-was">Of the experiment as it was then.</p> : null;
}
