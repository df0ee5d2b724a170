/** The one file of the browser client. It asks nothing of any network but its own service. */

import * as bytes from "./bytes.js";
import * as client from "./client.js";
import * as envelope from "./envelope.js";
import { start } from "./page.js";
import * as fractions from "./fractions.js";
import * as random from "./random.js";
import { randomize } from "./randomize.js";

globalThis.smoothdp = { ...bytes, ...client, ...envelope, ...fractions, ...random, randomize };
if (globalThis.document?.getElementById("poll")) start();
