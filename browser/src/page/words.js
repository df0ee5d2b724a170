/** What is and is not known about a participant, in plain words. */

import { approximate, fraction, subtract } from "../base/fractions.js";

/** To three places, without zeros after the point that say nothing: 100 stays 100. */
const places = (number) => `${number.toPrecision(3).replace(/\.0*$|(\.[0-9]*[1-9])0+$/, "$1")}%`;
/** Downwards: noise is never said to come more often than it does. */
const percentAtMost = (ratio) => {
  const exact = 100 * approximate(ratio), above = Number(exact.toPrecision(3)) > exact;
  return places(above ? exact - 10 ** (Math.floor(Math.log10(exact)) - 2) : exact);
};
/** Upwards: what a promise needs is never said to be less, nor a choice to be left out more often. */
const percentAtLeast = ([a, b]) => `${Number((10000n * a + b - 1n) / b) / 100}%`;
const up = (x) => (Math.ceil(x * 100) / 100).toString();

/** Sentences for this task, a list of [title, text]. */
export function privacyWords(task) {
  const factor = up(Math.exp(approximate(fraction(task.epsilon))));
  const honest = percentAtLeast(fraction(task.honest_share));
  return [
    ["What happens on your device", randomising(task)],
    [
      "What the first service learns",
      "Who holds your link, your network address, what your browser says of itself to every site, and " +
        "when you answer. Not your answer: it receives locked messages that it cannot open, equally many and equally long whatever you " +
        "answer. It mixes them with those of everybody else, and waits until at least " +
        `${task.min_batch} people have answered; with fewer, all answers are destroyed.`,
    ],
    [
      "What the second service learns",
      "The mixed, randomised messages of everybody together. Not who sent which, nor when." +
        (task.issuer ? ASKED : ""),
    ],
    [
      "What the published result tells about you",
      `Any conclusion that somebody draws from it would be at most ${factor} times as likely with ` +
        `one answer of yours as with another, but for a probability of at most ${task.delta}. ` +
        `This holds if at least ${honest} of the participants follow the rules, ` +
        `${isFlipped(task) ? "" : "the first service hands on whole reports, "}` +
        `${task.issuer ? "" : "it invents no participants, "}` +
        "and the two services do not work together.",
    ],
    ["If the two services work together", together(task)],
    ["Who could invent participants", inventing(task)],
    ["What your browser keeps", keeping(task)],
    [
      "What you must trust",
      "Your device and its browser; and that the first service sent you this page unchanged, with terms " +
        "that were agreed on: the page checks who signed the keys and the result, but does not compute " +
        "that the noise keeps the promise. If you do not, use the command-line client instead: it sends " +
        "exactly the same, computes that, and keeps its files better than a browser does.",
    ],
  ];
}

function keeping(task) {
  const forgotten = task.issuer
    ? "the issuer then refuses another answer in the same time, but this page no longer knows in how " +
      "many times you answered"
    : "then another answer could be randomised and sent";
  return (
    "Your locked messages, before they are sent, and after that time marks of them: never your answer. " +
    "What a browser has erased may stay on its disk for a while. A private window that is closed, and " +
    `storage that is cleared, forget all of it: ${forgotten}.`
  );
}

const ASKED =
  " But its public side, the issuer, learns who holds your invitation, your network address, what your " +
  "browser says of itself to every site, and when you ask it for the tokens that make your messages count; it does not see these messages.";

/** Protocols whose promise is proved against a service that takes reports apart. */
const isFlipped = ({ protocol }) => protocol === "boolean_sum" || protocol === "real_sum";

/** With everybody else invented or known, the dice of the own device alone are left. */
function inventing(task) {
  const then = isFlipped(task)
    ? "With all others invented, only the dice of your own device would protect you."
    : "With all others invented, hardly anything would protect you.";
  if (!task.issuer) {
    return `The first service alone could: nobody checks that it does not. ${then}`;
  }
  return (
    "Every answer needs a pass of the first service and an invitation of the second one's side, " +
    "so that neither can invent many people alone. Whoever made or saw both for many people " +
    `could: that is why they come to you by two different ways. ${then}`
  );
}

function randomising(task) {
  if (task.protocol === "boolean_sum") {
    return (
      `With probability ${percentAtMost([BigInt(task.noise), 1n << 64n])} your answer is turned into the ` +
      "opposite before it is locked and sent. The dice are thrown once, here; your true answer " +
      "is not kept and does not leave this page."
    );
  }
  if (task.protocol === "real_sum") {
    return (
      `Your number is turned into ${task.size} ones and zeros, and each of them is turned over ` +
      `with probability ${percentAtMost([BigInt(task.noise), 1n << 64n])} before it is locked and sent. ` +
      "The dice are thrown once, here; your number is not kept and does not leave this page."
    );
  }
  if (task.protocol === "histogram" || task.protocol === "low_communication_histogram") {
    const noise = fraction(task.noise);
    const added =
      task.protocol === "histogram" ? percentAtLeast(subtract([1n, 1n], noise)) : percentAtMost(noise);
    return (
      "Your choice is sent together with made-up choices: each choice is added with probability " +
      `${added}, and empty messages fill the rest. The dice are thrown once, here.`
    );
  }
  if (task.protocol === "split_sum") {
    return (
      `Your number, with a little noise, is split into ${task.slots} parts that are each as good ` +
      "as random; only the sum of everybody's parts means something. Your number is not kept and " +
      "does not leave this page."
    );
  }
  return (
    "Your answer is sent together with made-up answers of both signs, mostly in pairs that cancel " +
    "each other, and empty messages fill the rest. The dice are thrown once, here."
  );
}

function together(task) {
  if (isFlipped(task)) {
    const what = task.protocol === "boolean_sum" ? "your answer" : "your ones and zeros";
    return `They can then see ${what} after the dice, still turned over with that probability.`;
  }
  if (task.protocol === "split_sum") {
    return "They can then put the parts of each participant together, and read the number.";
  }
  return "They can then see the messages of each participant, and often tell the choice.";
}
