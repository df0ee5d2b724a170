/** Pass and invitation as they were typed: what is wrong with them, before anything is kept or sent. */

import { isSignedTask } from "../formats/task.js";
import { plain } from "./outcomes.js";

const SECRET = /^[0-9a-f]{96}$/;

/** Whether something looks like a pass or an invitation. */
export const isSecret = (typed) => SECRET.test(plain(typed));

const malformed = (name, whose) =>
  `That is no ${name}: one is 96 digits and letters from a to f. Copy all of it, as the ` +
  `${whose} gave it to you. Nothing was sent.`;

/** Each service would learn what is for the other one alone. */
export const ONE_FOR_BOTH =
  "Pass and invitation are the same here. They come by two ways, and the service of one must not " +
  "see the other: type the invitation that the second service's side gave you. Nothing was sent.";

/** What is wrong with what a person typed, or an empty string. */
export function problemOf(task, { pass, invitation }) {
  if (!isSecret(pass)) return malformed("pass", "first service");
  if (!isSignedTask(task)) return "";
  if (!isSecret(invitation)) return malformed("invitation", "second service's side");
  return plain(pass) === plain(invitation) ? ONE_FOR_BOTH : "";
}
