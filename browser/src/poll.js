/** The one file of the browser client. It asks nothing of any network but the services of its task. */

import * as answers from "./base/answers.js";
import * as bytes from "./base/bytes.js";
import * as fractions from "./base/fractions.js";
import * as random from "./base/random.js";
import * as client from "./client/client.js";
import * as inclusion from "./client/inclusion.js";
import * as noise from "./client/noise.js";
import * as outcomes from "./client/outcomes.js";
import { randomize } from "./client/randomize.js";
import { problemOf } from "./client/secrets.js";
import * as submit from "./client/submit.js";
import * as blind from "./formats/blind.js";
import * as card from "./formats/card.js";
import * as hybrid from "./formats/hybrid.js";
import * as marks from "./formats/marks.js";
import * as report from "./formats/report.js";
import * as signing from "./formats/signing.js";
import * as task from "./formats/task.js";
import * as tokens from "./formats/tokens.js";
import { obstacle, start } from "./page/page.js";
import { rowsOf } from "./page/results.js";
import { privacyWords } from "./page/words.js";

globalThis.smoothdp = {
  ...answers, ...bytes, ...fractions, ...random, ...client, ...inclusion, ...noise, ...submit, ...blind,
  ...card, ...hybrid, ...marks, ...report, ...signing, ...task, ...tokens,
  randomize, obstacle, outcomes, privacyWords, problemOf, rowsOf,
};
if (globalThis.document?.getElementById("poll")) start();
