/** Answers of a service, read up to a limit: the other end may be hostile. */

/** Of the task: as much as the command-line client reads. */
export const MOST_ANSWER = 1 << 22;
/** Of what is short: cards, tokens, refusals, the question. */
export const MOST_SHORT = 1 << 16;
/** Of all published results together. */
export const MOST_RESULTS = 1 << 26;

export const TOO_LONG =
  "A service answered with more than anything that is meant, and was not heard out. Check the " +
  "address of this page; if that is right, tell who runs the services.";

/** The bytes of an answer. Throws as soon as there are more than `most`; what follows is not taken. */
export async function bytesOf(answer, most = MOST_ANSWER) {
  const reader = answer.body?.getReader();
  let [bytes, size] = [new Uint8Array(Math.min(most, MOST_SHORT)), 0];
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    if (size + value.length > most) {
      reader.cancel().catch(() => {});
      throw new Error(TOO_LONG);
    }
    bytes = roomFor(bytes, size + value.length);
    bytes.set(value, size);
    size += value.length;
  }
  return bytes.slice(0, size);
}

export const documentOf = async (answer, most) =>
  JSON.parse(new TextDecoder().decode(await bytesOf(answer, most)));

/** The same bytes with room for so many: twice as many each time, however small the pieces are. */
function roomFor(bytes, size) {
  if (size <= bytes.length) return bytes;
  const larger = new Uint8Array(Math.max(size, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}
