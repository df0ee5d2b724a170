/** What is and is not known about a participant, in plain words. */

import { approximate, fraction, subtract } from "./fractions.js";

const percent = (ratio) => `${(100 * approximate(ratio)).toPrecision(3).replace(/\.?0+$/, "")}%`;
const up = (x) => (Math.ceil(x * 100) / 100).toString();

/** Sentences for this task, a list of [title, text]. */
export function privacyWords(task) {
  const factor = up(Math.exp(approximate(fraction(task.epsilon))));
  const honest = percent(subtract([1n, 1n], fraction(task.dishonest_share)));
  return [
    ["What happens on your device", randomising(task)],
    [
      "What the first service learns",
      "Who holds your link, your network address, and when you answer. Not your answer: it " +
        "receives locked messages that it cannot open, equally many and equally long whatever you " +
        "answer. It mixes them with those of everybody else, and waits until at least " +
        `${task.min_batch} people have answered; with fewer, all answers are destroyed.`,
    ],
    [
      "What the second service learns",
      "The mixed, randomised messages of everybody together. Not who sent which, nor when.",
    ],
    [
      "What the published result tells about you",
      `Any conclusion that somebody draws from it would be at most ${factor} times as likely with ` +
        `one answer of yours as with another, but for a probability of at most ${task.delta}. ` +
        `This holds if at least ${honest} of the participants follow the rules, and the two ` +
        "services do not work together.",
    ],
    ["If the two services work together", together(task)],
    [
      "What you must trust",
      "Your device; and that the first service sent you this page unchanged. If you do not, use " +
        "the command-line client instead: it sends exactly the same.",
    ],
  ];
}

function randomising(task) {
  if (task.protocol === "boolean_sum") {
    return (
      `With probability ${percent([BigInt(task.noise), 1n << 64n])} your answer is turned into the ` +
      "opposite before it is locked and sent. The dice are thrown once, here; your true answer " +
      "is not kept and does not leave this page."
    );
  }
  if (task.protocol === "real_sum") {
    return (
      `Your number is turned into ${task.size} ones and zeros, and each of them is turned over ` +
      `with probability ${percent([BigInt(task.noise), 1n << 64n])} before it is locked and sent. ` +
      "The dice are thrown once, here; your number is not kept and does not leave this page."
    );
  }
  return (
    "Your choice is sent together with made-up choices: each choice is added with probability " +
    `${percent(subtract([1n, 1n], fraction(task.noise)))}, and empty messages fill the rest. The ` +
    "dice are thrown once, here."
  );
}

function together(task) {
  if (task.protocol === "histogram") {
    return "They can then see the messages of each participant, and often tell the choice.";
  }
  const what = task.protocol === "boolean_sum" ? "your answer" : "your ones and zeros";
  return `They can then see ${what} after the dice, still turned over with that probability.`;
}
