(() => {
  var __create = Object.create;
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __getProtoOf = Object.getPrototypeOf;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __require = /* @__PURE__ */ ((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined" ? new Proxy(x, {
    get: (a, b) => (typeof require !== "undefined" ? require : a)[b]
  }) : x)(function(x) {
    if (typeof require !== "undefined") return require.apply(this, arguments);
    throw Error('Dynamic require of "' + x + '" is not supported');
  });
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toESM = (mod2, isNodeMode, target) => (target = mod2 != null ? __create(__getProtoOf(mod2)) : {}, __copyProps(
    // If the importer is in node compatibility mode or this is not an ESM
    // file that has been converted to a CommonJS file using a Babel-
    // compatible transform (i.e. "__esModule" has not been set), then set
    // "default" to the CommonJS "module.exports" for node compatibility.
    isNodeMode || !mod2 || !mod2.__esModule ? __defProp(target, "default", { value: mod2, enumerable: true }) : target,
    mod2
  ));

  // src/base/answers.js
  var answers_exports = {};
  __export(answers_exports, {
    Lost: () => Lost,
    MOST_ANSWER: () => MOST_ANSWER,
    MOST_RESULTS: () => MOST_RESULTS,
    MOST_SHORT: () => MOST_SHORT,
    NO_DOCUMENT: () => NO_DOCUMENT,
    TOO_LONG: () => TOO_LONG,
    ask: () => ask,
    bytesOf: () => bytesOf,
    documentOf: () => documentOf
  });
  var MOST_ANSWER = 1 << 22;
  var MOST_SHORT = 1 << 16;
  var MOST_RESULTS = 1 << 26;
  var SILENT_SECONDS = 30;
  var WHOLE_SECONDS = 60;
  var BYTES_A_SECOND = 1 << 16;
  var TOO_LONG = "A service answered with more than anything that is meant, and was not heard out. Check the address of this page; if that is right, tell who runs the services.";
  var NO_DOCUMENT = "A service answered with something that this page does not understand. Load this page again; if that does not help, tell who runs the services.";
  var Lost = class extends Error {
    constructor() {
      super("The service does not answer. Load this page again later.");
    }
  };
  var PLAINLY = {
    credentials: "omit",
    referrerPolicy: "no-referrer",
    redirect: "error",
    cache: "no-store"
  };
  var own = (url, fields) => fetch(url, fields);
  async function ask(url, fields, { fetcher = own, most = MOST_SHORT } = {}) {
    const stop = new AbortController();
    const whole = WHOLE_SECONDS + (most + (fields?.body?.length ?? 0)) / BYTES_A_SECOND;
    const end = setTimeout(() => stop.abort(), 1e3 * whole);
    let timer;
    const silence = new Promise((_, reject) => {
      stop.signal.addEventListener("abort", () => reject(new Lost()));
    });
    const inTime = (made) => {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), 1e3 * SILENT_SECONDS);
      return Promise.race([made, silence]);
    };
    try {
      const answer = await inTime(fetcher(url, { ...PLAINLY, ...fields, signal: stop.signal }));
      const body = await bytesOf(answer, most, inTime);
      const after = answer.headers.get("retry-after") ?? "";
      const seconds = /^[0-9]{1,6}$/.test(after) ? Number(after) : void 0;
      return { ok: answer.ok, status: answer.status, body, seconds };
    } catch (error) {
      if (error instanceof TypeError || error?.name === "AbortError") throw new Lost();
      throw error;
    } finally {
      clearTimeout(timer);
      clearTimeout(end);
    }
  }
  async function bytesOf(answer, most = MOST_ANSWER, inTime = (made) => made) {
    const reader = answer.body?.getReader();
    let [bytes, size] = [new Uint8Array(Math.min(most, MOST_SHORT)), 0];
    while (reader) {
      const { done, value } = await inTime(reader.read());
      if (done) break;
      if (size + value.length > most) {
        reader.cancel().catch(() => {
        });
        throw new Error(TOO_LONG);
      }
      bytes = roomFor(bytes, size + value.length);
      bytes.set(value, size);
      size += value.length;
    }
    return bytes.slice(0, size);
  }
  function documentOf({ body }) {
    try {
      return JSON.parse(new TextDecoder().decode(body));
    } catch {
      throw new Error(NO_DOCUMENT);
    }
  }
  function roomFor(bytes, size) {
    if (size <= bytes.length) return bytes;
    const larger = new Uint8Array(Math.max(size, 2 * bytes.length));
    larger.set(bytes);
    return larger;
  }

  // src/base/bytes.js
  var bytes_exports = {};
  __export(bytes_exports, {
    Reader: () => Reader,
    compare: () => compare,
    concat: () => concat,
    fromBig: () => fromBig,
    fromHex: () => fromHex,
    label: () => label,
    number: () => number,
    readNumber: () => readNumber,
    same: () => same,
    split: () => split,
    text: () => text,
    toBig: () => toBig,
    toHex: () => toHex,
    vec: () => vec
  });
  var text = (words) => new TextEncoder().encode(words);
  var label = (use) => text(`esa/2 ${use}`);
  function concat(...parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
  function fromHex(words) {
    if (typeof words !== "string" || !/^([0-9a-f]{2})*$/i.test(words)) {
      throw new Error("not hexadecimal");
    }
    return Uint8Array.from(words.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  }
  var toHex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  function number(value, size) {
    const limit = 2 ** (8 * size);
    if (!Number.isInteger(value) || value < 0 || value >= limit) throw new Error("out of range");
    return Uint8Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** (size - 1 - i)) % 256);
  }
  var readNumber = (bytes) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  var toBig = (bytes) => BigInt(`0x0${toHex(bytes)}`);
  var fromBig = (value, size) => fromHex(value.toString(16).padStart(2 * size, "0"));
  var vec = (bytes) => concat(number(bytes.length, 2), bytes);
  function compare(a, b) {
    for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
    return a.length - b.length;
  }
  var same = (a, b) => compare(a, b) === 0;
  var split = (bytes, size) => Array.from({ length: bytes.length / size }, (_, i) => bytes.slice(size * i, size * (i + 1)));
  var Reader = class {
    constructor(bytes) {
      [this.bytes, this.at] = [bytes, 0];
    }
    take(size) {
      if (size > this.bytes.length - this.at) throw new Error("too short");
      this.at += size;
      return this.bytes.slice(this.at - size, this.at);
    }
    number(size) {
      return readNumber(this.take(size));
    }
    vec() {
      return this.take(this.number(2));
    }
    end() {
      if (this.at !== this.bytes.length) throw new Error("too long");
    }
  };

  // src/base/fractions.js
  var fractions_exports = {};
  __export(fractions_exports, {
    approximate: () => approximate,
    fraction: () => fraction,
    less: () => less,
    ratio: () => ratio,
    round: () => round,
    subtract: () => subtract
  });
  var NUMBER = /^(-?)([0-9]{1,60})(?:\/([0-9]{1,60})|\.([0-9]{1,60}))?(?:[eE](-?[0-9]{1,3}))?$/;
  var NOT_A_NUMBER = "That is not a number. Write it in digits, with at most one point, such as 3.5. Nothing of it was sent.";
  function fraction(words) {
    const found = NUMBER.exec(String(words).trim());
    if (!found) throw new Error(NOT_A_NUMBER);
    const [, sign, whole, below2, decimals = "", power2 = "0"] = found;
    let numerator = BigInt(whole + decimals) * (sign ? -1n : 1n);
    let denominator = below2 === void 0 ? 10n ** BigInt(decimals.length) : BigInt(below2);
    if (denominator === 0n) throw new Error(NOT_A_NUMBER);
    const shift = Number(power2);
    if (shift >= 0) numerator *= 10n ** BigInt(shift);
    else denominator *= 10n ** BigInt(-shift);
    return [numerator, denominator];
  }
  var subtract = ([a, b], [c, d]) => [a * d - c * b, b * d];
  var less = ([a, b], [c, d]) => a * d < c * b;
  var ratio = ([a, b], [c, d]) => c < 0n ? [-a * d, -b * c] : [a * d, b * c];
  function round([a, b]) {
    const whole = a / b;
    const twice = 2n * (a % b);
    return twice > b || twice === b && whole % 2n === 1n ? whole + 1n : whole;
  }
  var approximate = ([a, b]) => {
    const scale = 10n ** 18n;
    return Number(a * scale / b) / 1e18;
  };

  // src/base/random.js
  var random_exports = {};
  __export(random_exports, {
    below: () => below,
    bernoulli: () => bernoulli,
    bits: () => bits,
    randomBytes: () => randomBytes
  });
  function randomBytes(size) {
    const bytes = new Uint8Array(size);
    for (let at = 0; at < size; at += 65536) {
      crypto.getRandomValues(bytes.subarray(at, Math.min(size, at + 65536)));
    }
    return bytes;
  }
  function bits(count, source = randomBytes) {
    let value = 0n;
    for (const byte of source(Math.ceil(count / 8))) value = value << 8n | BigInt(byte);
    return value & (1n << BigInt(count)) - 1n;
  }
  function below(n, source = randomBytes) {
    const limit = BigInt(n);
    if (limit < 1n) throw new Error("n must be at least 1");
    const count = limit.toString(2).length;
    for (; ; ) {
      const value = bits(count, source);
      if (value < limit) return value;
    }
  }
  var bernoulli = ([numerator, denominator], source = randomBytes) => below(denominator, source) < numerator;

  // src/client/client.js
  var client_exports = {};
  __export(client_exports, {
    CLOCK: () => CLOCK,
    GONE: () => GONE,
    finish: () => finish,
    ownMarks: () => ownMarks,
    request: () => request2,
    sealedReport: () => sealedReport,
    settle: () => settle,
    takePart: () => takePart
  });

  // src/formats/blind.js
  var blind_exports = {};
  __export(blind_exports, {
    MARKED: () => MARKED,
    MODULUS_BYTES: () => MODULUS_BYTES,
    NO_TOKEN: () => NO_TOKEN,
    SALT_BYTES: () => SALT_BYTES,
    TokenRefused: () => TokenRefused,
    blind: () => blind,
    blindBy: () => blindBy,
    divisor: () => divisor,
    finalize: () => finalize,
    modulusOf: () => modulusOf,
    power: () => power,
    pssEncode: () => pssEncode
  });

  // src/base/hashes.js
  var digest = async (name, bytes) => new Uint8Array(await crypto.subtle.digest(name, bytes));
  var sha256 = (...parts) => digest("SHA-256", concat(...parts));
  var sha384 = (...parts) => digest("SHA-384", concat(...parts));
  async function expand(key, info, size) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const mac = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
    let [whole, block] = [new Uint8Array(), new Uint8Array()];
    for (let at = 1; whole.length < size; at++) {
      const input = concat(block, info, Uint8Array.of(at));
      block = new Uint8Array(await crypto.subtle.sign("HMAC", mac, input));
      whole = concat(whole, block);
    }
    return whole.slice(0, size);
  }

  // src/formats/blind.js
  var MODULUS_BYTES = 256;
  var SALT_BYTES = 48;
  var EXPONENT = 65537n;
  var HASH_BYTES = 48;
  var PREFIX = fromHex(
    "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d010108300b0609608648016503040202a2030201300382010f003082010a0282010100"
  );
  var SUFFIX = fromHex("0203010001");
  var SPKI_BYTES = PREFIX.length + MODULUS_BYTES + SUFFIX.length;
  var MARKED = "The key of this poll was made to mark people. Nothing of this time was sent, and nothing will be in this time: take part in the next one, and tell others.";
  var NO_TOKEN = "The issuer's answer is no signature on what this page asked for. Nothing of this time was sent, and nothing will be in this time: take part in the next one, and tell others.";
  var TokenRefused = class extends Error {
  };
  function modulusOf(spki) {
    const good = spki.length === SPKI_BYTES && same(spki.slice(0, PREFIX.length), PREFIX) && same(spki.slice(-SUFFIX.length), SUFFIX);
    const bytes = spki.slice(PREFIX.length, -SUFFIX.length);
    if (!good || bytes[0] < 128 || bytes.at(-1) % 2 === 0) throw new TokenRefused(MARKED);
    return toBig(bytes);
  }
  function power(base, exponent, n) {
    let result = 1n;
    for (let square = base % n; exponent; exponent >>= 1n, square = square * square % n) {
      if (exponent & 1n) result = result * square % n;
    }
    return result;
  }
  function divisor(a, n) {
    let [r, s, x, y] = [n, a % n, 0n, 1n];
    while (s) {
      const quotient = r / s;
      [r, s] = [s, r - quotient * s];
      [x, y] = [y, x - quotient * y];
    }
    return [r, (x % n + n) % n];
  }
  async function pssEncode(message, { bits: bits2, salt }) {
    const length = Math.ceil(bits2 / 8);
    const seed = await sha384(new Uint8Array(8), await sha384(message), salt);
    const zeros = new Uint8Array(length - salt.length - HASH_BYTES - 2);
    const block = concat(zeros, Uint8Array.of(1), salt);
    let mask = new Uint8Array();
    for (let at = 0; mask.length < block.length; at++) {
      mask = concat(mask, await sha384(seed, number(at, 4)));
    }
    const masked = block.map((byte, i) => byte ^ mask[i]);
    masked[0] &= 255 >> 8 * length - bits2;
    return concat(masked, seed, Uint8Array.of(188));
  }
  var blind = (n, message, { salt, bytes }) => blindBy(n, EXPONENT, message, { salt, factor: toBig(bytes) % (n - 1n) + 1n });
  async function blindBy(n, e, message, { salt, factor }) {
    const bits2 = n.toString(2).length;
    const encoded = toBig(await pssEncode(message, { bits: bits2 - 1, salt }));
    const [common, inverse] = divisor(factor, n);
    if (divisor(encoded, n)[0] !== 1n || common !== 1n) throw new TokenRefused(MARKED);
    const request3 = fromBig(encoded * power(factor, e, n) % n, Math.ceil(bits2 / 8));
    return { request: request3, encoded, inverse };
  }
  function finalize(n, { encoded, inverse }, answer, e = EXPONENT) {
    const size = Math.ceil(n.toString(2).length / 8);
    if (answer.length !== size || compare(answer, fromBig(n, size)) >= 0) {
      throw new TokenRefused(NO_TOKEN);
    }
    const signature = toBig(answer) * inverse % n;
    if (power(signature, e, n) !== encoded) throw new TokenRefused(NO_TOKEN);
    return fromBig(signature, size);
  }

  // src/formats/card.js
  var card_exports = {};
  __export(card_exports, {
    HASH_BYTES: () => HASH_BYTES2,
    VERSION: () => VERSION,
    checkCard: () => checkCard,
    decodeCard: () => decodeCard,
    encapsulationHeader: () => encapsulationHeader,
    encodeCard: () => encodeCard,
    openCard: () => openCard
  });

  // src/formats/hybrid.js
  var hybrid_exports = {};
  __export(hybrid_exports, {
    KEY_BYTES: () => KEY_BYTES,
    OVERHEAD: () => OVERHEAD,
    SUITE: () => SUITE,
    hides: () => hides,
    open: () => open,
    seal: () => seal
  });

  // node_modules/@hpke/common/esm/src/errors.js
  var HpkeError = class extends Error {
    constructor(e) {
      let message;
      if (e instanceof Error) {
        message = e.message;
      } else if (typeof e === "string") {
        message = e;
      } else {
        message = "";
      }
      super(message);
      this.name = this.constructor.name;
    }
  };
  var InvalidParamError = class extends HpkeError {
  };
  var SerializeError = class extends HpkeError {
  };
  var DeserializeError = class extends HpkeError {
  };
  var EncapError = class extends HpkeError {
  };
  var DecapError = class extends HpkeError {
  };
  var ExportError = class extends HpkeError {
  };
  var SealError = class extends HpkeError {
  };
  var OpenError = class extends HpkeError {
  };
  var MessageLimitReachedError = class extends HpkeError {
  };
  var DeriveKeyPairError = class extends HpkeError {
  };
  var NotSupportedError = class extends HpkeError {
  };

  // node_modules/@hpke/common/esm/_dnt.shims.js
  var dntGlobals = {};
  var dntGlobalThis = createMergeProxy(globalThis, dntGlobals);
  function createMergeProxy(baseObj, extObj) {
    return new Proxy(baseObj, {
      get(_target, prop, _receiver) {
        if (prop in extObj) {
          return extObj[prop];
        } else {
          return baseObj[prop];
        }
      },
      set(_target, prop, value) {
        if (prop in extObj) {
          delete extObj[prop];
        }
        baseObj[prop] = value;
        return true;
      },
      deleteProperty(_target, prop) {
        let success = false;
        if (prop in extObj) {
          delete extObj[prop];
          success = true;
        }
        if (prop in baseObj) {
          delete baseObj[prop];
          success = true;
        }
        return success;
      },
      ownKeys(_target) {
        const baseKeys = Reflect.ownKeys(baseObj);
        const extKeys = Reflect.ownKeys(extObj);
        const extKeysSet = new Set(extKeys);
        return [...baseKeys.filter((k) => !extKeysSet.has(k)), ...extKeys];
      },
      defineProperty(_target, prop, desc) {
        if (prop in extObj) {
          delete extObj[prop];
        }
        Reflect.defineProperty(baseObj, prop, desc);
        return true;
      },
      getOwnPropertyDescriptor(_target, prop) {
        if (prop in extObj) {
          return Reflect.getOwnPropertyDescriptor(extObj, prop);
        } else {
          return Reflect.getOwnPropertyDescriptor(baseObj, prop);
        }
      },
      has(_target, prop) {
        return prop in extObj || prop in baseObj;
      }
    });
  }

  // node_modules/@hpke/common/esm/src/algorithm.js
  async function loadSubtleCrypto() {
    if (dntGlobalThis !== void 0 && globalThis.crypto !== void 0) {
      return globalThis.crypto.subtle;
    }
    try {
      const { webcrypto } = await import("crypto");
      return webcrypto.subtle;
    } catch (e) {
      throw new NotSupportedError(e);
    }
  }
  var NativeAlgorithm = class {
    constructor() {
      Object.defineProperty(this, "_api", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
    }
    async _setup() {
      if (this._api !== void 0) {
        return;
      }
      this._api = await loadSubtleCrypto();
    }
  };

  // node_modules/@hpke/common/esm/src/identifiers.js
  var Mode = {
    Base: 0,
    Psk: 1,
    Auth: 2,
    AuthPsk: 3
  };
  var KemId = {
    NotAssigned: 0,
    DhkemP256HkdfSha256: 16,
    DhkemP384HkdfSha384: 17,
    DhkemP521HkdfSha512: 18,
    DhkemSecp256k1HkdfSha256: 19,
    DhkemX25519HkdfSha256: 32,
    DhkemX448HkdfSha512: 33,
    HybridkemX25519Kyber768: 48,
    MlKem512: 64,
    MlKem768: 65,
    MlKem1024: 66,
    XWing: 25722
  };
  var KdfId = {
    HkdfSha256: 1,
    HkdfSha384: 2,
    HkdfSha512: 3,
    Sha3256: 4,
    Sha3384: 5,
    Sha3512: 6,
    Shake128: 16,
    Shake256: 17,
    TurboShake128: 18,
    TurboShake256: 19
  };
  var AeadId = {
    Aes128Gcm: 1,
    Aes256Gcm: 2,
    Chacha20Poly1305: 3,
    ExportOnly: 65535
  };

  // node_modules/@hpke/common/esm/src/consts.js
  var INPUT_LENGTH_LIMIT = 8192;
  var INFO_LENGTH_LIMIT = 268435456;
  var MINIMUM_PSK_LENGTH = 32;
  var EMPTY = /* @__PURE__ */ new Uint8Array(0);
  var N_0 = 0n;
  var N_1 = 1n;
  var N_2 = 2n;

  // node_modules/@hpke/common/esm/src/interfaces/kemInterface.js
  var SUITE_ID_HEADER_KEM = /* @__PURE__ */ new Uint8Array([
    75,
    69,
    77,
    0,
    0
  ]);

  // node_modules/@hpke/common/esm/src/kdfs/hkdf.js
  var HPKE_VERSION = /* @__PURE__ */ new Uint8Array([
    72,
    80,
    75,
    69,
    45,
    118,
    49
  ]);
  function toUint8Array(input) {
    return new Uint8Array(toArrayBuffer(input));
  }
  function toArrayBuffer(input) {
    if (input instanceof ArrayBuffer) {
      return input;
    }
    if (ArrayBuffer.isView(input)) {
      return new Uint8Array(input.buffer, input.byteOffset, input.byteLength).slice().buffer;
    }
    return new Uint8Array(input).slice().buffer;
  }
  var HkdfNative = class extends NativeAlgorithm {
    constructor() {
      super();
      Object.defineProperty(this, "id", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: KdfId.HkdfSha256
      });
      Object.defineProperty(this, "hashSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "_suiteId", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: EMPTY
      });
      Object.defineProperty(this, "algHash", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: {
          name: "HMAC",
          hash: "SHA-256",
          length: 256
        }
      });
    }
    init(suiteId) {
      this._suiteId = suiteId;
    }
    buildLabeledIkm(label2, ikm) {
      this._checkInit();
      const ret = new Uint8Array(7 + this._suiteId.byteLength + label2.byteLength + ikm.byteLength);
      ret.set(HPKE_VERSION, 0);
      ret.set(this._suiteId, 7);
      ret.set(label2, 7 + this._suiteId.byteLength);
      ret.set(ikm, 7 + this._suiteId.byteLength + label2.byteLength);
      return ret;
    }
    buildLabeledInfo(label2, info, len) {
      this._checkInit();
      const ret = new Uint8Array(9 + this._suiteId.byteLength + label2.byteLength + info.byteLength);
      ret.set(new Uint8Array([0, len]), 0);
      ret.set(HPKE_VERSION, 2);
      ret.set(this._suiteId, 9);
      ret.set(label2, 9 + this._suiteId.byteLength);
      ret.set(info, 9 + this._suiteId.byteLength + label2.byteLength);
      return ret;
    }
    async extract(salt, ikm) {
      await this._setup();
      const saltBuf = salt.byteLength === 0 ? new ArrayBuffer(this.hashSize) : toArrayBuffer(salt);
      if (saltBuf.byteLength !== this.hashSize) {
        throw new InvalidParamError("The salt length must be the same as the hashSize");
      }
      const ikmBuf = toArrayBuffer(ikm);
      const key = await this._api.importKey("raw", saltBuf, this.algHash, false, [
        "sign"
      ]);
      return await this._api.sign("HMAC", key, ikmBuf);
    }
    async expand(prk, info, len) {
      await this._setup();
      const prkBuf = toArrayBuffer(prk);
      const key = await this._api.importKey("raw", prkBuf, this.algHash, false, [
        "sign"
      ]);
      const okm = new ArrayBuffer(len);
      const okmBytes = new Uint8Array(okm);
      let prev = EMPTY;
      const mid = toUint8Array(info);
      const tail = new Uint8Array(1);
      if (len > 255 * this.hashSize) {
        throw new Error("Entropy limit reached");
      }
      const tmp = new Uint8Array(this.hashSize + mid.length + 1);
      for (let i = 1, cur = 0; cur < okmBytes.length; i++) {
        tail[0] = i;
        tmp.set(prev, 0);
        tmp.set(mid, prev.length);
        tmp.set(tail, prev.length + mid.length);
        prev = new Uint8Array(await this._api.sign("HMAC", key, tmp.slice(0, prev.length + mid.length + 1)));
        if (okmBytes.length - cur >= prev.length) {
          okmBytes.set(prev, cur);
          cur += prev.length;
        } else {
          okmBytes.set(prev.slice(0, okmBytes.length - cur), cur);
          cur += okmBytes.length - cur;
        }
      }
      return okm;
    }
    async extractAndExpand(salt, ikm, info, len) {
      await this._setup();
      const ikmBuf = toArrayBuffer(ikm);
      const baseKey = await this._api.importKey("raw", ikmBuf, "HKDF", false, ["deriveBits"]);
      return await this._api.deriveBits({
        name: "HKDF",
        hash: this.algHash.hash,
        salt: toArrayBuffer(salt),
        info: toArrayBuffer(info)
      }, baseKey, len * 8);
    }
    async labeledExtract(salt, label2, ikm) {
      return await this.extract(salt, this.buildLabeledIkm(label2, ikm));
    }
    async labeledExpand(prk, label2, info, len) {
      return await this.expand(prk, this.buildLabeledInfo(label2, info, len), len);
    }
    _checkInit() {
      if (this._suiteId === EMPTY) {
        throw new Error("Not initialized. Call init()");
      }
    }
  };
  var HkdfSha256Native = class extends HkdfNative {
    constructor() {
      super(...arguments);
      Object.defineProperty(this, "id", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: KdfId.HkdfSha256
      });
      Object.defineProperty(this, "hashSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
      Object.defineProperty(this, "algHash", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: {
          name: "HMAC",
          hash: "SHA-256",
          length: 256
        }
      });
    }
  };

  // node_modules/@hpke/common/esm/src/utils/misc.js
  var isCryptoKeyPair = (x) => typeof x === "object" && x !== null && typeof x.privateKey === "object" && typeof x.publicKey === "object";
  function i2Osp(n, w) {
    if (w <= 0) {
      throw new Error("i2Osp: too small size");
    }
    if (n >= 256 ** w) {
      throw new Error("i2Osp: too large integer");
    }
    const ret = new Uint8Array(w);
    for (let i = 0; i < w && n; i++) {
      ret[w - (i + 1)] = n % 256;
      n = Math.floor(n / 256);
    }
    return ret;
  }
  function concat2(a, b) {
    const ret = new Uint8Array(a.length + b.length);
    ret.set(a, 0);
    ret.set(b, a.length);
    return ret;
  }
  function base64UrlToBytes(v) {
    const base64 = v.replace(/-/g, "+").replace(/_/g, "/");
    const byteString = atob(base64);
    const ret = new Uint8Array(byteString.length);
    for (let i = 0; i < byteString.length; i++) {
      ret[i] = byteString.charCodeAt(i);
    }
    return ret;
  }
  async function loadCrypto() {
    if (typeof dntGlobalThis !== "undefined" && globalThis.crypto !== void 0) {
      return globalThis.crypto;
    }
    try {
      const { webcrypto } = await import("crypto");
      return webcrypto;
    } catch (_e) {
      throw new Error("failed to load Crypto");
    }
  }
  function xor(a, b) {
    if (a.byteLength !== b.byteLength) {
      throw new Error("xor: different length inputs");
    }
    const buf = new Uint8Array(a.byteLength);
    for (let i = 0; i < a.byteLength; i++) {
      buf[i] = a[i] ^ b[i];
    }
    return buf;
  }

  // node_modules/@hpke/common/esm/src/kems/dhkem.js
  var LABEL_EAE_PRK = /* @__PURE__ */ new Uint8Array([
    101,
    97,
    101,
    95,
    112,
    114,
    107
  ]);
  var LABEL_SHARED_SECRET = /* @__PURE__ */ new Uint8Array([
    115,
    104,
    97,
    114,
    101,
    100,
    95,
    115,
    101,
    99,
    114,
    101,
    116
  ]);
  function concat3(a, b, c) {
    const ret = new Uint8Array(a.length + b.length + c.length);
    ret.set(a, 0);
    ret.set(b, a.length);
    ret.set(c, a.length + b.length);
    return ret;
  }
  var Dhkem = class {
    constructor(id, prim, kdf) {
      Object.defineProperty(this, "id", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "secretSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "encSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "publicKeySize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "privateKeySize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "_prim", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_kdf", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this.id = id;
      this._prim = prim;
      this._kdf = kdf;
      const suiteId = new Uint8Array(SUITE_ID_HEADER_KEM);
      suiteId.set(i2Osp(this.id, 2), 3);
      this._kdf.init(suiteId);
    }
    async serializePublicKey(key) {
      return await this._prim.serializePublicKey(key);
    }
    async deserializePublicKey(key) {
      return await this._prim.deserializePublicKey(toArrayBuffer(key));
    }
    async serializePrivateKey(key) {
      return await this._prim.serializePrivateKey(key);
    }
    async deserializePrivateKey(key) {
      return await this._prim.deserializePrivateKey(toArrayBuffer(key));
    }
    async importKey(format, key, isPublic = true) {
      return await this._prim.importKey(format, key, isPublic);
    }
    async generateKeyPair() {
      return await this._prim.generateKeyPair();
    }
    async deriveKeyPair(ikm) {
      const rawIkm = toArrayBuffer(ikm);
      if (rawIkm.byteLength > INPUT_LENGTH_LIMIT) {
        throw new InvalidParamError("Too long ikm");
      }
      return await this._prim.deriveKeyPair(rawIkm);
    }
    async encap(params) {
      let ke;
      if (params.ekm === void 0) {
        ke = await this.generateKeyPair();
      } else if (isCryptoKeyPair(params.ekm)) {
        ke = params.ekm;
      } else {
        ke = await this.deriveKeyPair(params.ekm);
      }
      const enc = await this._prim.serializePublicKey(ke.publicKey);
      const pkrm = await this._prim.serializePublicKey(params.recipientPublicKey);
      try {
        let dh;
        if (params.senderKey === void 0) {
          dh = new Uint8Array(await this._prim.dh(ke.privateKey, params.recipientPublicKey));
        } else {
          const sks = isCryptoKeyPair(params.senderKey) ? params.senderKey.privateKey : params.senderKey;
          const dh1 = new Uint8Array(await this._prim.dh(ke.privateKey, params.recipientPublicKey));
          const dh2 = new Uint8Array(await this._prim.dh(sks, params.recipientPublicKey));
          dh = concat2(dh1, dh2);
        }
        let kemContext;
        if (params.senderKey === void 0) {
          kemContext = concat2(new Uint8Array(enc), new Uint8Array(pkrm));
        } else {
          const pks = isCryptoKeyPair(params.senderKey) ? params.senderKey.publicKey : await this._prim.derivePublicKey(params.senderKey);
          const pksm = await this._prim.serializePublicKey(pks);
          kemContext = concat3(new Uint8Array(enc), new Uint8Array(pkrm), new Uint8Array(pksm));
        }
        const sharedSecret = await this._generateSharedSecret(dh, kemContext);
        return {
          enc,
          sharedSecret
        };
      } catch (e) {
        throw new EncapError(e);
      }
    }
    async decap(params) {
      const enc = toArrayBuffer(params.enc);
      const pke = await this._prim.deserializePublicKey(enc);
      const skr = isCryptoKeyPair(params.recipientKey) ? params.recipientKey.privateKey : params.recipientKey;
      const pkr = isCryptoKeyPair(params.recipientKey) ? params.recipientKey.publicKey : await this._prim.derivePublicKey(params.recipientKey);
      const pkrm = await this._prim.serializePublicKey(pkr);
      try {
        let dh;
        if (params.senderPublicKey === void 0) {
          dh = new Uint8Array(await this._prim.dh(skr, pke));
        } else {
          const dh1 = new Uint8Array(await this._prim.dh(skr, pke));
          const dh2 = new Uint8Array(await this._prim.dh(skr, params.senderPublicKey));
          dh = concat2(dh1, dh2);
        }
        let kemContext;
        if (params.senderPublicKey === void 0) {
          kemContext = concat2(new Uint8Array(enc), new Uint8Array(pkrm));
        } else {
          const pksm = await this._prim.serializePublicKey(params.senderPublicKey);
          kemContext = new Uint8Array(enc.byteLength + pkrm.byteLength + pksm.byteLength);
          kemContext.set(new Uint8Array(enc), 0);
          kemContext.set(new Uint8Array(pkrm), enc.byteLength);
          kemContext.set(new Uint8Array(pksm), enc.byteLength + pkrm.byteLength);
        }
        return await this._generateSharedSecret(dh, kemContext);
      } catch (e) {
        throw new DecapError(e);
      }
    }
    async _generateSharedSecret(dh, kemContext) {
      const labeledIkm = this._kdf.buildLabeledIkm(LABEL_EAE_PRK, dh);
      const labeledInfo = this._kdf.buildLabeledInfo(LABEL_SHARED_SECRET, kemContext, this.secretSize);
      return await this._kdf.extractAndExpand(EMPTY, labeledIkm, labeledInfo, this.secretSize);
    }
  };

  // node_modules/@hpke/common/esm/src/interfaces/dhkemPrimitives.js
  var KEM_USAGES = ["deriveBits"];
  var LABEL_DKP_PRK = /* @__PURE__ */ new Uint8Array([
    100,
    107,
    112,
    95,
    112,
    114,
    107
  ]);
  var LABEL_SK = /* @__PURE__ */ new Uint8Array([115, 107]);

  // node_modules/@hpke/common/esm/src/kems/dhkemPrimitives/ec.js
  var EC_P_521_PARAMS = {
    p: (1n << 521n) - 1n,
    b: 0x0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00n,
    gx: 0x00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66n,
    gy: 0x011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650n,
    coordinateSize: 66
  };

  // node_modules/@hpke/common/esm/src/xCryptoKey.js
  var XCryptoKey = class {
    constructor(name, key, type, usages = []) {
      Object.defineProperty(this, "key", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "type", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "extractable", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: true
      });
      Object.defineProperty(this, "algorithm", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "usages", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this.key = key;
      this.type = type;
      this.algorithm = { name };
      this.usages = usages;
      if (type === "public") {
        this.usages = [];
      }
    }
  };

  // node_modules/@hpke/common/esm/src/kems/dhkemPrimitives/xCurve.js
  var XCurveDhkemPrimitives = class {
    constructor(algName, keySize, curve, hkdf) {
      Object.defineProperty(this, "_algName", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_curve", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_hkdf", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_nPk", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_nSk", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this._algName = algName;
      this._nPk = keySize;
      this._nSk = keySize;
      this._curve = curve;
      this._hkdf = hkdf;
    }
    serializePublicKey(key) {
      try {
        return Promise.resolve(key.key.buffer);
      } catch (e) {
        return Promise.reject(new SerializeError(e));
      }
    }
    async deserializePublicKey(key) {
      try {
        return await this._importRawKey(toArrayBuffer(key), true);
      } catch (e) {
        throw new DeserializeError(e);
      }
    }
    serializePrivateKey(key) {
      try {
        return Promise.resolve(key.key.buffer);
      } catch (e) {
        return Promise.reject(new SerializeError(e));
      }
    }
    async deserializePrivateKey(key) {
      try {
        return await this._importRawKey(toArrayBuffer(key), false);
      } catch (e) {
        throw new DeserializeError(e);
      }
    }
    async importKey(format, key, isPublic) {
      try {
        if (format === "raw") {
          return await this._importRawKey(key, isPublic);
        }
        if (key instanceof ArrayBuffer) {
          throw new Error("Invalid jwk key format");
        }
        return await this._importJWK(key, isPublic);
      } catch (e) {
        throw new DeserializeError(e);
      }
    }
    async generateKeyPair() {
      try {
        const rawSk = await this._curve.utils.randomSecretKey();
        const sk = new XCryptoKey(this._algName, rawSk, "private", KEM_USAGES);
        const pk = await this.derivePublicKey(sk);
        return { publicKey: pk, privateKey: sk };
      } catch (e) {
        throw new NotSupportedError(e);
      }
    }
    async deriveKeyPair(ikm) {
      try {
        const rawIkm = toArrayBuffer(ikm);
        const dkpPrk = await this._hkdf.labeledExtract(EMPTY.buffer, LABEL_DKP_PRK, new Uint8Array(rawIkm));
        const rawSk = await this._hkdf.labeledExpand(dkpPrk, LABEL_SK, EMPTY, this._nSk);
        const sk = new XCryptoKey(this._algName, new Uint8Array(rawSk), "private", KEM_USAGES);
        return {
          privateKey: sk,
          publicKey: await this.derivePublicKey(sk)
        };
      } catch (e) {
        throw new DeriveKeyPairError(e);
      }
    }
    derivePublicKey(key) {
      try {
        const pk = this._curve.getPublicKey(key.key);
        return Promise.resolve(new XCryptoKey(this._algName, pk, "public"));
      } catch (e) {
        return Promise.reject(new DeserializeError(e));
      }
    }
    dh(sk, pk) {
      try {
        return Promise.resolve(this._curve.getSharedSecret(sk.key, pk.key).buffer);
      } catch (e) {
        return Promise.reject(new SerializeError(e));
      }
    }
    _importRawKey(key, isPublic) {
      return new Promise((resolve, reject) => {
        if (isPublic && key.byteLength !== this._nPk) {
          reject(new Error("Invalid length of the key"));
        }
        if (!isPublic && key.byteLength !== this._nSk) {
          reject(new Error("Invalid length of the key"));
        }
        resolve(new XCryptoKey(this._algName, new Uint8Array(key), isPublic ? "public" : "private", isPublic ? [] : KEM_USAGES));
      });
    }
    _importJWK(key, isPublic) {
      return new Promise((resolve, reject) => {
        if (key.kty !== "OKP") {
          reject(new Error(`Invalid kty: ${key.kty}`));
        }
        if (key.crv !== this._algName) {
          reject(new Error(`Invalid crv: ${key.crv}`));
        }
        if (isPublic) {
          if (typeof key.d !== "undefined") {
            reject(new Error("Invalid key: `d` should not be set"));
          }
          if (typeof key.x !== "string") {
            reject(new Error("Invalid key: `x` not found"));
          }
          resolve(new XCryptoKey(this._algName, base64UrlToBytes(key.x), "public"));
        } else {
          if (typeof key.d !== "string") {
            reject(new Error("Invalid key: `d` not found"));
          }
          resolve(new XCryptoKey(this._algName, base64UrlToBytes(key.d), "private", KEM_USAGES));
        }
      });
    }
  };

  // node_modules/@hpke/common/esm/src/utils/noble.js
  function isBytes(a) {
    return a instanceof Uint8Array || ArrayBuffer.isView(a) && a.constructor.name === "Uint8Array";
  }
  function anumber(n, title = "") {
    if (!Number.isSafeInteger(n) || n < 0) {
      const prefix = title && `"${title}" `;
      throw new Error(`${prefix}expected integer >0, got ${n}`);
    }
  }
  function abytes(value, length, title = "") {
    const bytes = isBytes(value);
    const len = value?.length;
    const needsLen = length !== void 0;
    if (!bytes || needsLen && len !== length) {
      const prefix = title && `"${title}" `;
      const ofLen = needsLen ? ` of length ${length}` : "";
      const got = bytes ? `length=${len}` : `type=${typeof value}`;
      throw new Error(prefix + "expected Uint8Array" + ofLen + ", got " + got);
    }
    return value;
  }
  function aexists(instance, checkFinished = true) {
    if (instance.destroyed)
      throw new Error("Hash instance has been destroyed");
    if (checkFinished && instance.finished) {
      throw new Error("Hash#digest() has already been called");
    }
  }
  function aoutput(out, instance) {
    abytes(out, void 0, "digestInto() output");
    const min = instance.outputLen;
    if (out.length < min) {
      throw new Error('"digestInto() output" expected to be of length >=' + min);
    }
  }
  function abignumer(n) {
    if (typeof n === "bigint") {
      if (!isPosBig(n))
        throw new Error("positive bigint expected, got " + n);
    } else
      anumber(n);
    return n;
  }
  function u32(arr) {
    return new Uint32Array(arr.buffer, arr.byteOffset, Math.floor(arr.byteLength / 4));
  }
  function clean(...arrays) {
    for (let i = 0; i < arrays.length; i++) {
      arrays[i].fill(0);
    }
  }
  var _endianTestBuffer = /* @__PURE__ */ new Uint32Array([287454020]);
  var _endianTestBytes = /* @__PURE__ */ new Uint8Array(_endianTestBuffer.buffer);
  var isLE = _endianTestBytes[0] === 68;
  function createView(arr) {
    return new DataView(arr.buffer, arr.byteOffset, arr.byteLength);
  }
  function rotr(word, shift) {
    return word << 32 - shift | word >>> shift;
  }
  var hasHexBuiltin = /* @__PURE__ */ (() => (
    // @ts-ignore: to use toHex
    typeof Uint8Array.from([]).toHex === "function" && // @ts-ignore: to use fromHex
    typeof Uint8Array.fromHex === "function"
  ))();
  var hexes = /* @__PURE__ */ Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
  var HEX_TO_BIGINT = [
    0n,
    1n,
    2n,
    3n,
    4n,
    5n,
    6n,
    7n,
    8n,
    9n,
    10n,
    11n,
    12n,
    13n,
    14n,
    15n
  ];
  function bytesToHex(bytes) {
    abytes(bytes);
    if (hasHexBuiltin)
      return bytes.toHex();
    let hex = "";
    for (let i = 0; i < bytes.length; i++) {
      hex += hexes[bytes[i]];
    }
    return hex;
  }
  var asciis = { _0: 48, _9: 57, A: 65, F: 70, a: 97, f: 102 };
  function asciiToBase16(ch) {
    if (ch >= asciis._0 && ch <= asciis._9)
      return ch - asciis._0;
    if (ch >= asciis.A && ch <= asciis.F)
      return ch - (asciis.A - 10);
    if (ch >= asciis.a && ch <= asciis.f)
      return ch - (asciis.a - 10);
    return;
  }
  function hexToBytes(hex) {
    if (typeof hex !== "string") {
      throw new Error("hex string expected, got " + typeof hex);
    }
    if (hasHexBuiltin)
      return Uint8Array.fromHex(hex);
    const hl = hex.length;
    const al = hl / 2;
    if (hl % 2) {
      throw new Error("hex string expected, got unpadded hex of length " + hl);
    }
    const array = new Uint8Array(al);
    for (let ai = 0, hi = 0; ai < al; ai++, hi += 2) {
      const n1 = asciiToBase16(hex.charCodeAt(hi));
      const n2 = asciiToBase16(hex.charCodeAt(hi + 1));
      if (n1 === void 0 || n2 === void 0) {
        const char = hex[hi] + hex[hi + 1];
        throw new Error('hex string expected, got non-hex character "' + char + '" at index ' + hi);
      }
      array[ai] = n1 * 16 + n2;
    }
    return array;
  }
  function hexToNumber(hex) {
    if (typeof hex !== "string") {
      throw new Error("hex string expected, got " + typeof hex);
    }
    let out = N_0;
    for (let i = 0; i < hex.length; i++) {
      const n = asciiToBase16(hex.charCodeAt(i));
      if (n === void 0) {
        throw new Error('hex string expected, got non-hex character "' + hex[i] + '" at index ' + i);
      }
      out = out << 4n | HEX_TO_BIGINT[n];
    }
    return out;
  }
  function numberToBigint(num) {
    anumber(num, "numberToBigint");
    let n = num;
    let out = N_0;
    let bit = 1n;
    while (n > 0) {
      if (n % 2 === 1)
        out += bit;
      n = Math.floor(n / 2);
      bit <<= 1n;
    }
    return out;
  }
  function bytesToNumberLE(bytes) {
    return hexToNumber(bytesToHex(copyBytes(abytes(bytes)).reverse()));
  }
  function numberToBytesBE(n, len) {
    anumber(len);
    n = abignumer(n);
    const res = hexToBytes(n.toString(16).padStart(len * 2, "0"));
    if (res.length !== len)
      throw new Error("number too large");
    return res;
  }
  function numberToBytesLE(n, len) {
    return numberToBytesBE(n, len).reverse();
  }
  function copyBytes(bytes) {
    return Uint8Array.from(bytes);
  }
  function isPosBig(n) {
    return typeof n === "bigint" && N_0 <= n;
  }
  function inRange(n, min, max) {
    return isPosBig(n) && isPosBig(min) && isPosBig(max) && min <= n && n < max;
  }
  function aInRange(title, n, min, max) {
    if (!inRange(n, min, max)) {
      throw new Error("expected valid " + title + ": " + min + " <= n < " + max + ", got " + n);
    }
  }
  function validateObject(object, fields = {}, optFields = {}) {
    if (!object || typeof object !== "object") {
      throw new Error("expected valid options object");
    }
    function checkField(fieldName, expectedType, isOpt) {
      const val = object[fieldName];
      if (isOpt && val === void 0)
        return;
      const current = typeof val;
      if (current !== expectedType || val === null) {
        throw new Error(`param "${fieldName}" is invalid: expected ${expectedType}, got ${current}`);
      }
    }
    const iter = (f, isOpt) => Object.entries(f).forEach(([k, v]) => checkField(k, v, isOpt));
    iter(fields, false);
    iter(optFields, true);
  }
  async function randomBytesAsync(bytesLength = 32) {
    const api = await loadCrypto();
    const rnd = new Uint8Array(bytesLength);
    api.getRandomValues(rnd);
    return rnd;
  }
  function oidNist(suffix) {
    return {
      oid: Uint8Array.from([
        6,
        9,
        96,
        134,
        72,
        1,
        101,
        3,
        4,
        2,
        suffix
      ])
    };
  }

  // node_modules/@hpke/common/esm/src/hash/hash.js
  function ahash(h) {
    if (typeof h !== "function" || typeof h.create !== "function") {
      throw new Error("Hash must wrapped by utils.createHasher");
    }
    anumber(h.outputLen);
    anumber(h.blockLen);
  }
  function createHasher(hashCons, info = {}) {
    const hashFn = (msg, opts) => hashCons(opts).update(msg).digest();
    const tmp = hashCons(void 0);
    const hashC = Object.assign(hashFn, {
      outputLen: tmp.outputLen,
      blockLen: tmp.blockLen,
      create: (opts) => hashCons(opts),
      ...info
    });
    return Object.freeze(hashC);
  }

  // node_modules/@hpke/common/esm/src/hash/hmac.js
  var _HMAC = class {
    constructor(hash, key) {
      Object.defineProperty(this, "oHash", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "iHash", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "blockLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "outputLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "finished", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: false
      });
      Object.defineProperty(this, "destroyed", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: false
      });
      ahash(hash);
      abytes(key, void 0, "key");
      this.iHash = hash.create();
      if (typeof this.iHash.update !== "function") {
        throw new Error("Expected instance of class which extends utils.Hash");
      }
      this.blockLen = this.iHash.blockLen;
      this.outputLen = this.iHash.outputLen;
      const blockLen = this.blockLen;
      const pad = new Uint8Array(blockLen);
      pad.set(key.length > blockLen ? hash.create().update(key).digest() : key);
      for (let i = 0; i < pad.length; i++)
        pad[i] ^= 54;
      this.iHash.update(pad);
      this.oHash = hash.create();
      for (let i = 0; i < pad.length; i++)
        pad[i] ^= 54 ^ 92;
      this.oHash.update(pad);
      clean(pad);
    }
    update(buf) {
      aexists(this);
      this.iHash.update(buf);
      return this;
    }
    digestInto(out) {
      aexists(this);
      abytes(out, this.outputLen, "output");
      this.finished = true;
      this.iHash.digestInto(out);
      this.oHash.update(out);
      this.oHash.digestInto(out);
      this.destroy();
    }
    digest() {
      const out = new Uint8Array(this.oHash.outputLen);
      this.digestInto(out);
      return out;
    }
    _cloneInto(to) {
      to ||= Object.create(Object.getPrototypeOf(this), {});
      const { oHash, iHash, finished, destroyed, blockLen, outputLen } = this;
      to = to;
      to.finished = finished;
      to.destroyed = destroyed;
      to.blockLen = blockLen;
      to.outputLen = outputLen;
      to.oHash = oHash._cloneInto(to.oHash);
      to.iHash = iHash._cloneInto(to.iHash);
      return to;
    }
    clone() {
      return this._cloneInto();
    }
    destroy() {
      this.destroyed = true;
      this.oHash.destroy();
      this.iHash.destroy();
    }
  };
  var hmac = (hash, key, message) => new _HMAC(hash, key).update(message).digest();
  hmac.create = (hash, key) => new _HMAC(hash, key);

  // node_modules/@hpke/common/esm/src/hash/md.js
  function Chi(a, b, c) {
    return a & b ^ ~a & c;
  }
  function Maj(a, b, c) {
    return a & b ^ a & c ^ b & c;
  }
  var HashMD = class {
    constructor(blockLen, outputLen, padOffset, isLE2) {
      Object.defineProperty(this, "blockLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "outputLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "padOffset", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "isLE", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "buffer", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "view", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "finished", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: false
      });
      Object.defineProperty(this, "length", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "pos", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "destroyed", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: false
      });
      this.blockLen = blockLen;
      this.outputLen = outputLen;
      this.padOffset = padOffset;
      this.isLE = isLE2;
      this.buffer = new Uint8Array(blockLen);
      this.view = createView(this.buffer);
    }
    update(data) {
      aexists(this);
      abytes(data);
      const { view, buffer, blockLen } = this;
      const len = data.length;
      for (let pos = 0; pos < len; ) {
        const take = Math.min(blockLen - this.pos, len - pos);
        if (take === blockLen) {
          const dataView = createView(data);
          for (; blockLen <= len - pos; pos += blockLen) {
            this.process(dataView, pos);
          }
          continue;
        }
        buffer.set(data.subarray(pos, pos + take), this.pos);
        this.pos += take;
        pos += take;
        if (this.pos === blockLen) {
          this.process(view, 0);
          this.pos = 0;
        }
      }
      this.length += data.length;
      this.roundClean();
      return this;
    }
    digestInto(out) {
      aexists(this);
      aoutput(out, this);
      this.finished = true;
      const { buffer, view, blockLen, isLE: isLE2 } = this;
      let { pos } = this;
      buffer[pos++] = 128;
      clean(this.buffer.subarray(pos));
      if (this.padOffset > blockLen - pos) {
        this.process(view, 0);
        pos = 0;
      }
      for (let i = pos; i < blockLen; i++)
        buffer[i] = 0;
      view.setBigUint64(blockLen - 8, numberToBigint(this.length * 8), isLE2);
      this.process(view, 0);
      const oview = createView(out);
      const len = this.outputLen;
      if (len % 4)
        throw new Error("_sha2: outputLen must be aligned to 32bit");
      const outLen = len / 4;
      const state = this.get();
      if (outLen > state.length) {
        throw new Error("_sha2: outputLen bigger than state");
      }
      for (let i = 0; i < outLen; i++)
        oview.setUint32(4 * i, state[i], isLE2);
    }
    digest() {
      const { buffer, outputLen } = this;
      this.digestInto(buffer);
      const res = buffer.slice(0, outputLen);
      this.destroy();
      return res;
    }
    _cloneInto(to) {
      to ||= new this.constructor();
      to.set(...this.get());
      const { blockLen, buffer, length, finished, destroyed, pos } = this;
      to.destroyed = destroyed;
      to.finished = finished;
      to.length = length;
      to.pos = pos;
      if (length % blockLen)
        to.buffer.set(buffer);
      return to;
    }
    clone() {
      return this._cloneInto();
    }
  };
  var SHA256_IV = /* @__PURE__ */ Uint32Array.from([
    1779033703,
    3144134277,
    1013904242,
    2773480762,
    1359893119,
    2600822924,
    528734635,
    1541459225
  ]);

  // node_modules/@hpke/common/esm/src/hash/u64.js
  var U32_MASK64 = 0xffffffffn;
  var _32n = 32n;
  function fromBig2(n, le = false) {
    if (le) {
      return { h: Number(n & U32_MASK64), l: Number(n >> _32n & U32_MASK64) };
    }
    return {
      h: Number(n >> _32n & U32_MASK64) | 0,
      l: Number(n & U32_MASK64) | 0
    };
  }
  function split2(lst, le = false) {
    const len = lst.length;
    const Ah = new Uint32Array(len);
    const Al = new Uint32Array(len);
    for (let i = 0; i < len; i++) {
      const { h, l } = fromBig2(lst[i], le);
      [Ah[i], Al[i]] = [h, l];
    }
    return [Ah, Al];
  }

  // node_modules/@hpke/common/esm/src/hash/sha2.js
  var SHA256_K = /* @__PURE__ */ Uint32Array.from([
    1116352408,
    1899447441,
    3049323471,
    3921009573,
    961987163,
    1508970993,
    2453635748,
    2870763221,
    3624381080,
    310598401,
    607225278,
    1426881987,
    1925078388,
    2162078206,
    2614888103,
    3248222580,
    3835390401,
    4022224774,
    264347078,
    604807628,
    770255983,
    1249150122,
    1555081692,
    1996064986,
    2554220882,
    2821834349,
    2952996808,
    3210313671,
    3336571891,
    3584528711,
    113926993,
    338241895,
    666307205,
    773529912,
    1294757372,
    1396182291,
    1695183700,
    1986661051,
    2177026350,
    2456956037,
    2730485921,
    2820302411,
    3259730800,
    3345764771,
    3516065817,
    3600352804,
    4094571909,
    275423344,
    430227734,
    506948616,
    659060556,
    883997877,
    958139571,
    1322822218,
    1537002063,
    1747873779,
    1955562222,
    2024104815,
    2227730452,
    2361852424,
    2428436474,
    2756734187,
    3204031479,
    3329325298
  ]);
  var SHA256_W = /* @__PURE__ */ new Uint32Array(64);
  var SHA2_32B = class extends HashMD {
    constructor(outputLen) {
      super(64, outputLen, 8, false);
    }
    get() {
      const { A, B, C, D, E, F, G, H } = this;
      return [A, B, C, D, E, F, G, H];
    }
    set(A, B, C, D, E, F, G, H) {
      this.A = A | 0;
      this.B = B | 0;
      this.C = C | 0;
      this.D = D | 0;
      this.E = E | 0;
      this.F = F | 0;
      this.G = G | 0;
      this.H = H | 0;
    }
    process(view, offset) {
      for (let i = 0; i < 16; i++, offset += 4) {
        SHA256_W[i] = view.getUint32(offset, false);
      }
      for (let i = 16; i < 64; i++) {
        const W15 = SHA256_W[i - 15];
        const W2 = SHA256_W[i - 2];
        const s0 = rotr(W15, 7) ^ rotr(W15, 18) ^ W15 >>> 3;
        const s1 = rotr(W2, 17) ^ rotr(W2, 19) ^ W2 >>> 10;
        SHA256_W[i] = s1 + SHA256_W[i - 7] + s0 + SHA256_W[i - 16] | 0;
      }
      let { A, B, C, D, E, F, G, H } = this;
      for (let i = 0; i < 64; i++) {
        const sigma1 = rotr(E, 6) ^ rotr(E, 11) ^ rotr(E, 25);
        const T1 = H + sigma1 + Chi(E, F, G) + SHA256_K[i] + SHA256_W[i] | 0;
        const sigma0 = rotr(A, 2) ^ rotr(A, 13) ^ rotr(A, 22);
        const T2 = sigma0 + Maj(A, B, C) | 0;
        H = G;
        G = F;
        F = E;
        E = D + T1 | 0;
        D = C;
        C = B;
        B = A;
        A = T1 + T2 | 0;
      }
      A = A + this.A | 0;
      B = B + this.B | 0;
      C = C + this.C | 0;
      D = D + this.D | 0;
      E = E + this.E | 0;
      F = F + this.F | 0;
      G = G + this.G | 0;
      H = H + this.H | 0;
      this.set(A, B, C, D, E, F, G, H);
    }
    roundClean() {
      clean(SHA256_W);
    }
    destroy() {
      this.set(0, 0, 0, 0, 0, 0, 0, 0);
      clean(this.buffer);
    }
  };
  var _SHA256 = class extends SHA2_32B {
    constructor() {
      super(32);
      Object.defineProperty(this, "A", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[0] | 0
      });
      Object.defineProperty(this, "B", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[1] | 0
      });
      Object.defineProperty(this, "C", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[2] | 0
      });
      Object.defineProperty(this, "D", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[3] | 0
      });
      Object.defineProperty(this, "E", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[4] | 0
      });
      Object.defineProperty(this, "F", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[5] | 0
      });
      Object.defineProperty(this, "G", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[6] | 0
      });
      Object.defineProperty(this, "H", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: SHA256_IV[7] | 0
      });
    }
  };
  var sha2562 = /* @__PURE__ */ createHasher(
    () => new _SHA256(),
    /* @__PURE__ */ oidNist(1)
  );

  // node_modules/@hpke/common/esm/src/hash/sha3.js
  var _0n = 0n;
  var _1n = 1n;
  var _2n = 2n;
  var _7n = 7n;
  var _256n = 256n;
  var _0x71n = 0x71n;
  var SHA3_PI = [];
  var SHA3_ROTL = [];
  var _SHA3_IOTA = [];
  for (let round2 = 0, R = _1n, x = 1, y = 0; round2 < 24; round2++) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    SHA3_PI.push(2 * (5 * y + x));
    SHA3_ROTL.push((round2 + 1) * (round2 + 2) / 2 % 64);
    let t = _0n;
    for (let j = 0; j < 7; j++) {
      R = (R << _1n ^ (R >> _7n) * _0x71n) % _256n;
      if (R & _2n)
        t ^= _1n << (_1n << BigInt(j)) - _1n;
    }
    _SHA3_IOTA.push(t);
  }
  var IOTAS = split2(_SHA3_IOTA, true);
  var SHA3_IOTA_H = IOTAS[0];
  var SHA3_IOTA_L = IOTAS[1];

  // node_modules/@hpke/common/esm/src/curve/modular.js
  function mod(a, b) {
    const result = a % b;
    return result >= N_0 ? result : b + result;
  }
  function pow2(x, power2, modulo) {
    let res = x;
    while (power2-- > N_0) {
      res *= res;
      res %= modulo;
    }
    return res;
  }

  // node_modules/@hpke/common/esm/src/curve/curve.js
  function createKeygen(randomSecretKey, getPublicKey) {
    return function keygen(seed) {
      const secretKey = randomSecretKey(seed);
      return { secretKey, publicKey: getPublicKey(secretKey) };
    };
  }

  // node_modules/@hpke/common/esm/src/curve/montgomery.js
  function validateOpts(curve) {
    validateObject(curve, {
      adjustScalarBytes: "function",
      powPminus2: "function"
    });
    return Object.freeze({ ...curve });
  }
  function montgomery(curveDef) {
    const CURVE = validateOpts(curveDef);
    const { P: P2, type, adjustScalarBytes: adjustScalarBytes2, powPminus2, randomBytes: rand } = CURVE;
    const is25519 = type === "x25519";
    if (!is25519 && type !== "x448")
      throw new Error("invalid type");
    const randomBytes_ = rand || randomBytesAsync;
    const montgomeryBits = is25519 ? 255n : 448n;
    const fieldLen = is25519 ? 32 : 56;
    const Gu = is25519 ? 9n : 5n;
    const a24 = is25519 ? 121665n : 39081n;
    const minScalar = is25519 ? N_2 ** 254n : N_2 ** 447n;
    const maxAdded = is25519 ? 8n * N_2 ** 251n - N_1 : 4n * N_2 ** 445n - N_1;
    const maxScalar = minScalar + maxAdded + N_1;
    const modP = (n) => mod(n, P2);
    const GuBytes = encodeU(Gu);
    function encodeU(u) {
      return numberToBytesLE(modP(u), fieldLen);
    }
    function decodeU(u) {
      const _u = copyBytes(abytes(u, fieldLen, "uCoordinate"));
      if (is25519)
        _u[31] &= 127;
      return modP(bytesToNumberLE(_u));
    }
    function decodeScalar(scalar) {
      return bytesToNumberLE(adjustScalarBytes2(copyBytes(abytes(scalar, fieldLen, "scalar"))));
    }
    function scalarMult(scalar, u) {
      const pu = montgomeryLadder(decodeU(u), decodeScalar(scalar));
      if (pu === N_0)
        throw new Error("invalid private or public key received");
      return encodeU(pu);
    }
    function scalarMultBase(scalar) {
      return scalarMult(scalar, GuBytes);
    }
    const getPublicKey = scalarMultBase;
    const getSharedSecret = scalarMult;
    function cswap(swap, x_2, x_3) {
      const dummy = modP(swap * (x_2 - x_3));
      x_2 = modP(x_2 - dummy);
      x_3 = modP(x_3 + dummy);
      return { x_2, x_3 };
    }
    function montgomeryLadder(u, scalar) {
      aInRange("u", u, N_0, P2);
      aInRange("scalar", scalar, minScalar, maxScalar);
      const k = scalar;
      const x_1 = u;
      let x_2 = N_1;
      let z_2 = N_0;
      let x_3 = u;
      let z_3 = N_1;
      let swap = N_0;
      for (let t = montgomeryBits - 1n; t >= N_0; t--) {
        const k_t = k >> t & N_1;
        swap ^= k_t;
        ({ x_2, x_3 } = cswap(swap, x_2, x_3));
        ({ x_2: z_2, x_3: z_3 } = cswap(swap, z_2, z_3));
        swap = k_t;
        const A = x_2 + z_2;
        const AA = modP(A * A);
        const B = x_2 - z_2;
        const BB = modP(B * B);
        const E = AA - BB;
        const C = x_3 + z_3;
        const D = x_3 - z_3;
        const DA = modP(D * A);
        const CB = modP(C * B);
        const dacb = DA + CB;
        const da_cb = DA - CB;
        x_3 = modP(dacb * dacb);
        z_3 = modP(x_1 * modP(da_cb * da_cb));
        x_2 = modP(AA * BB);
        z_2 = modP(E * (AA + modP(a24 * E)));
      }
      ({ x_2, x_3 } = cswap(swap, x_2, x_3));
      ({ x_2: z_2, x_3: z_3 } = cswap(swap, z_2, z_3));
      const z2 = powPminus2(z_2);
      return modP(x_2 * z2);
    }
    const lengths = {
      secretKey: fieldLen,
      publicKey: fieldLen,
      seed: fieldLen
    };
    const randomSecretKey = async (seed) => {
      if (seed === void 0) {
        seed = await randomBytes_(fieldLen);
      }
      abytes(seed, lengths.seed, "seed");
      return seed;
    };
    const utils = { randomSecretKey };
    return Object.freeze({
      keygen: createKeygen(randomSecretKey, getPublicKey),
      getSharedSecret,
      getPublicKey,
      scalarMult,
      scalarMultBase,
      utils,
      GuBytes: GuBytes.slice(),
      lengths
    });
  }

  // node_modules/@hpke/core/esm/src/utils/emitNotSupported.js
  function emitNotSupported() {
    return new Promise((_resolve, reject) => {
      reject(new NotSupportedError("Not supported"));
    });
  }

  // node_modules/@hpke/core/esm/src/exporterContext.js
  var LABEL_SEC = new Uint8Array([115, 101, 99]);
  var ExporterContextImpl = class {
    constructor(api, kdf, exporterSecret) {
      Object.defineProperty(this, "_api", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "exporterSecret", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_kdf", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this._api = api;
      this._kdf = kdf;
      this.exporterSecret = exporterSecret;
    }
    async seal(_data, _aad) {
      return await emitNotSupported();
    }
    async open(_data, _aad) {
      return await emitNotSupported();
    }
    async export(exporterContext, len) {
      const rawExporterContext = toArrayBuffer(exporterContext);
      if (rawExporterContext.byteLength > INPUT_LENGTH_LIMIT) {
        throw new InvalidParamError("Too long exporter context");
      }
      try {
        return await this._kdf.labeledExpand(this.exporterSecret, LABEL_SEC, new Uint8Array(rawExporterContext), len);
      } catch (e) {
        throw new ExportError(e);
      }
    }
  };
  var RecipientExporterContextImpl = class extends ExporterContextImpl {
  };
  var SenderExporterContextImpl = class extends ExporterContextImpl {
    constructor(api, kdf, exporterSecret, enc) {
      super(api, kdf, exporterSecret);
      Object.defineProperty(this, "enc", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this.enc = enc;
      return;
    }
  };

  // node_modules/@hpke/core/esm/src/encryptionContext.js
  var EncryptionContextImpl = class extends ExporterContextImpl {
    constructor(api, kdf, params) {
      super(api, kdf, params.exporterSecret);
      Object.defineProperty(this, "_aead", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_nK", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_nN", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_nT", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_ctx", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      if (params.key === void 0 || params.baseNonce === void 0 || params.seq === void 0) {
        throw new Error("Required parameters are missing");
      }
      this._aead = params.aead;
      this._nK = this._aead.keySize;
      this._nN = this._aead.nonceSize;
      this._nT = this._aead.tagSize;
      const key = this._aead.createEncryptionContext(params.key);
      this._ctx = {
        key,
        baseNonce: params.baseNonce,
        seq: params.seq
      };
    }
    computeNonce(k) {
      const seqBytes = i2Osp(k.seq, k.baseNonce.byteLength);
      return xor(k.baseNonce, seqBytes).buffer;
    }
    incrementSeq(k) {
      if (k.seq > Number.MAX_SAFE_INTEGER) {
        throw new MessageLimitReachedError("Message limit reached");
      }
      k.seq += 1;
      return;
    }
  };

  // node_modules/@hpke/core/esm/src/mutex.js
  var __classPrivateFieldGet = function(receiver, state, kind, f) {
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a getter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot read private member from an object whose class did not declare it");
    return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
  };
  var __classPrivateFieldSet = function(receiver, state, value, kind, f) {
    if (kind === "m") throw new TypeError("Private method is not writable");
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a setter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot write private member to an object whose class did not declare it");
    return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
  };
  var _Mutex_locked;
  var Mutex = class {
    constructor() {
      _Mutex_locked.set(this, Promise.resolve());
    }
    async lock() {
      let releaseLock;
      const nextLock = new Promise((resolve) => {
        releaseLock = resolve;
      });
      const previousLock = __classPrivateFieldGet(this, _Mutex_locked, "f");
      __classPrivateFieldSet(this, _Mutex_locked, nextLock, "f");
      await previousLock;
      return releaseLock;
    }
  };
  _Mutex_locked = /* @__PURE__ */ new WeakMap();

  // node_modules/@hpke/core/esm/src/recipientContext.js
  var __classPrivateFieldGet2 = function(receiver, state, kind, f) {
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a getter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot read private member from an object whose class did not declare it");
    return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
  };
  var __classPrivateFieldSet2 = function(receiver, state, value, kind, f) {
    if (kind === "m") throw new TypeError("Private method is not writable");
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a setter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot write private member to an object whose class did not declare it");
    return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
  };
  var _RecipientContextImpl_mutex;
  var RecipientContextImpl = class extends EncryptionContextImpl {
    constructor() {
      super(...arguments);
      _RecipientContextImpl_mutex.set(this, void 0);
    }
    async open(data, aad = EMPTY.buffer) {
      __classPrivateFieldSet2(this, _RecipientContextImpl_mutex, __classPrivateFieldGet2(this, _RecipientContextImpl_mutex, "f") ?? new Mutex(), "f");
      const release = await __classPrivateFieldGet2(this, _RecipientContextImpl_mutex, "f").lock();
      let pt;
      try {
        pt = await this._ctx.key.open(this.computeNonce(this._ctx), toArrayBuffer(data), toArrayBuffer(aad));
      } catch (e) {
        throw new OpenError(e);
      } finally {
        release();
      }
      this.incrementSeq(this._ctx);
      return pt;
    }
  };
  _RecipientContextImpl_mutex = /* @__PURE__ */ new WeakMap();

  // node_modules/@hpke/core/esm/src/senderContext.js
  var __classPrivateFieldGet3 = function(receiver, state, kind, f) {
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a getter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot read private member from an object whose class did not declare it");
    return kind === "m" ? f : kind === "a" ? f.call(receiver) : f ? f.value : state.get(receiver);
  };
  var __classPrivateFieldSet3 = function(receiver, state, value, kind, f) {
    if (kind === "m") throw new TypeError("Private method is not writable");
    if (kind === "a" && !f) throw new TypeError("Private accessor was defined without a setter");
    if (typeof state === "function" ? receiver !== state || !f : !state.has(receiver)) throw new TypeError("Cannot write private member to an object whose class did not declare it");
    return kind === "a" ? f.call(receiver, value) : f ? f.value = value : state.set(receiver, value), value;
  };
  var _SenderContextImpl_mutex;
  var SenderContextImpl = class extends EncryptionContextImpl {
    constructor(api, kdf, params, enc) {
      super(api, kdf, params);
      Object.defineProperty(this, "enc", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      _SenderContextImpl_mutex.set(this, void 0);
      this.enc = enc;
    }
    async seal(data, aad = EMPTY.buffer) {
      __classPrivateFieldSet3(this, _SenderContextImpl_mutex, __classPrivateFieldGet3(this, _SenderContextImpl_mutex, "f") ?? new Mutex(), "f");
      const release = await __classPrivateFieldGet3(this, _SenderContextImpl_mutex, "f").lock();
      let ct;
      try {
        ct = await this._ctx.key.seal(this.computeNonce(this._ctx), toArrayBuffer(data), toArrayBuffer(aad));
      } catch (e) {
        throw new SealError(e);
      } finally {
        release();
      }
      this.incrementSeq(this._ctx);
      return ct;
    }
  };
  _SenderContextImpl_mutex = /* @__PURE__ */ new WeakMap();

  // node_modules/@hpke/core/esm/src/cipherSuiteNative.js
  var LABEL_BASE_NONCE = new Uint8Array([
    98,
    97,
    115,
    101,
    95,
    110,
    111,
    110,
    99,
    101
  ]);
  var LABEL_EXP = new Uint8Array([101, 120, 112]);
  var LABEL_INFO_HASH = new Uint8Array([
    105,
    110,
    102,
    111,
    95,
    104,
    97,
    115,
    104
  ]);
  var LABEL_KEY = new Uint8Array([107, 101, 121]);
  var LABEL_PSK_ID_HASH = new Uint8Array([
    112,
    115,
    107,
    95,
    105,
    100,
    95,
    104,
    97,
    115,
    104
  ]);
  var LABEL_SECRET = new Uint8Array([115, 101, 99, 114, 101, 116]);
  var SUITE_ID_HEADER_HPKE = new Uint8Array([
    72,
    80,
    75,
    69,
    0,
    0,
    0,
    0,
    0,
    0
  ]);
  var CipherSuiteNative = class extends NativeAlgorithm {
    /**
     * @param params A set of parameters for building a cipher suite.
     *
     * If the error occurred, throws {@link InvalidParamError}.
     *
     * @throws {@link InvalidParamError}
     */
    constructor(params) {
      super();
      Object.defineProperty(this, "_kem", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_kdf", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_aead", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      Object.defineProperty(this, "_suiteId", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      if (typeof params.kem === "number") {
        throw new InvalidParamError("KemId cannot be used");
      }
      this._kem = params.kem;
      if (typeof params.kdf === "number") {
        throw new InvalidParamError("KdfId cannot be used");
      }
      this._kdf = params.kdf;
      if (typeof params.aead === "number") {
        throw new InvalidParamError("AeadId cannot be used");
      }
      this._aead = params.aead;
      this._suiteId = new Uint8Array(SUITE_ID_HEADER_HPKE);
      this._suiteId.set(i2Osp(this._kem.id, 2), 4);
      this._suiteId.set(i2Osp(this._kdf.id, 2), 6);
      this._suiteId.set(i2Osp(this._aead.id, 2), 8);
      this._kdf.init(this._suiteId);
    }
    /**
     * Gets the KEM context of the ciphersuite.
     */
    get kem() {
      return this._kem;
    }
    /**
     * Gets the KDF context of the ciphersuite.
     */
    get kdf() {
      return this._kdf;
    }
    /**
     * Gets the AEAD context of the ciphersuite.
     */
    get aead() {
      return this._aead;
    }
    /**
     * Creates an encryption context for a sender.
     *
     * If the error occurred, throws {@link DecapError} | {@link ValidationError}.
     *
     * @param params A set of parameters for the sender encryption context.
     * @returns A sender encryption context.
     * @throws {@link EncapError}, {@link ValidationError}
     */
    async createSenderContext(params) {
      this._validateInputLength(params);
      await this._setup();
      const dh = await this._kem.encap(params);
      let mode;
      if (params.psk !== void 0) {
        mode = params.senderKey !== void 0 ? Mode.AuthPsk : Mode.Psk;
      } else {
        mode = params.senderKey !== void 0 ? Mode.Auth : Mode.Base;
      }
      return await this._keyScheduleS(mode, dh.sharedSecret, dh.enc, params);
    }
    /**
     * Creates an encryption context for a recipient.
     *
     * If the error occurred, throws {@link DecapError}
     * | {@link DeserializeError} | {@link ValidationError}.
     *
     * @param params A set of parameters for the recipient encryption context.
     * @returns A recipient encryption context.
     * @throws {@link DecapError}, {@link DeserializeError}, {@link ValidationError}
     */
    async createRecipientContext(params) {
      this._validateInputLength(params);
      await this._setup();
      const sharedSecret = await this._kem.decap(params);
      let mode;
      if (params.psk !== void 0) {
        mode = params.senderPublicKey !== void 0 ? Mode.AuthPsk : Mode.Psk;
      } else {
        mode = params.senderPublicKey !== void 0 ? Mode.Auth : Mode.Base;
      }
      return await this._keyScheduleR(mode, sharedSecret, params);
    }
    /**
     * Encrypts a message to a recipient.
     *
     * If the error occurred, throws `EncapError` | `MessageLimitReachedError` | `SealError` | `ValidationError`.
     *
     * @param params A set of parameters for building a sender encryption context.
     * @param pt A plain text as bytes to be encrypted.
     * @param aad Additional authenticated data as bytes fed by an application.
     * @returns A cipher text and an encapsulated key as bytes.
     * @throws {@link EncapError}, {@link MessageLimitReachedError}, {@link SealError}, {@link ValidationError}
     */
    async seal(params, pt, aad = EMPTY.buffer) {
      const ctx = await this.createSenderContext(params);
      return {
        ct: await ctx.seal(pt, aad),
        enc: ctx.enc
      };
    }
    /**
     * Decrypts a message from a sender.
     *
     * If the error occurred, throws `DecapError` | `DeserializeError` | `OpenError` | `ValidationError`.
     *
     * @param params A set of parameters for building a recipient encryption context.
     * @param ct An encrypted text as bytes to be decrypted.
     * @param aad Additional authenticated data as bytes fed by an application.
     * @returns A decrypted plain text as bytes.
     * @throws {@link DecapError}, {@link DeserializeError}, {@link OpenError}, {@link ValidationError}
     */
    async open(params, ct, aad = EMPTY.buffer) {
      const ctx = await this.createRecipientContext(params);
      return await ctx.open(ct, aad);
    }
    // private verifyPskInputs(mode: Mode, params: KeyScheduleParams) {
    //   const gotPsk = (params.psk !== undefined);
    //   const gotPskId = (params.psk !== undefined && params.psk.id.byteLength > 0);
    //   if (gotPsk !== gotPskId) {
    //     throw new Error('Inconsistent PSK inputs');
    //   }
    //   if (gotPsk && (mode === Mode.Base || mode === Mode.Auth)) {
    //     throw new Error('PSK input provided when not needed');
    //   }
    //   if (!gotPsk && (mode === Mode.Psk || mode === Mode.AuthPsk)) {
    //     throw new Error('Missing required PSK input');
    //   }
    //   return;
    // }
    async _keySchedule(mode, sharedSecret, params) {
      const pskId = params.psk === void 0 ? EMPTY : toUint8Array(params.psk.id);
      const pskIdHash = await this._kdf.labeledExtract(EMPTY, LABEL_PSK_ID_HASH, pskId);
      const info = params.info === void 0 ? EMPTY : toUint8Array(params.info);
      const infoHash = await this._kdf.labeledExtract(EMPTY, LABEL_INFO_HASH, info);
      const keyScheduleContext = new Uint8Array(1 + pskIdHash.byteLength + infoHash.byteLength);
      keyScheduleContext.set(new Uint8Array([mode]), 0);
      keyScheduleContext.set(new Uint8Array(pskIdHash), 1);
      keyScheduleContext.set(new Uint8Array(infoHash), 1 + pskIdHash.byteLength);
      const psk = params.psk === void 0 ? EMPTY : toUint8Array(params.psk.key);
      const ikm = this._kdf.buildLabeledIkm(LABEL_SECRET, psk);
      const exporterSecretInfo = this._kdf.buildLabeledInfo(LABEL_EXP, keyScheduleContext, this._kdf.hashSize);
      const exporterSecret = await this._kdf.extractAndExpand(sharedSecret, ikm, exporterSecretInfo, this._kdf.hashSize);
      if (this._aead.id === AeadId.ExportOnly) {
        return { aead: this._aead, exporterSecret };
      }
      const keyInfo = this._kdf.buildLabeledInfo(LABEL_KEY, keyScheduleContext, this._aead.keySize);
      const key = await this._kdf.extractAndExpand(sharedSecret, ikm, keyInfo, this._aead.keySize);
      const baseNonceInfo = this._kdf.buildLabeledInfo(LABEL_BASE_NONCE, keyScheduleContext, this._aead.nonceSize);
      const baseNonce = await this._kdf.extractAndExpand(sharedSecret, ikm, baseNonceInfo, this._aead.nonceSize);
      return {
        aead: this._aead,
        exporterSecret,
        key,
        baseNonce: new Uint8Array(baseNonce),
        seq: 0
      };
    }
    async _keyScheduleS(mode, sharedSecret, enc, params) {
      const res = await this._keySchedule(mode, sharedSecret, params);
      if (res.key === void 0) {
        return new SenderExporterContextImpl(this._api, this._kdf, res.exporterSecret, enc);
      }
      return new SenderContextImpl(this._api, this._kdf, res, enc);
    }
    async _keyScheduleR(mode, sharedSecret, params) {
      const res = await this._keySchedule(mode, sharedSecret, params);
      if (res.key === void 0) {
        return new RecipientExporterContextImpl(this._api, this._kdf, res.exporterSecret);
      }
      return new RecipientContextImpl(this._api, this._kdf, res);
    }
    _validateInputLength(params) {
      if (params.info !== void 0 && params.info.byteLength > INFO_LENGTH_LIMIT) {
        throw new InvalidParamError("Too long info");
      }
      if (params.psk !== void 0) {
        if (params.psk.key.byteLength < MINIMUM_PSK_LENGTH) {
          throw new InvalidParamError(`PSK must have at least ${MINIMUM_PSK_LENGTH} bytes`);
        }
        if (params.psk.key.byteLength > INPUT_LENGTH_LIMIT) {
          throw new InvalidParamError("Too long psk.key");
        }
        if (params.psk.id.byteLength > INPUT_LENGTH_LIMIT) {
          throw new InvalidParamError("Too long psk.id");
        }
      }
      return;
    }
  };

  // node_modules/@hpke/core/esm/src/native.js
  var CipherSuite = class extends CipherSuiteNative {
  };
  var HkdfSha256 = class extends HkdfSha256Native {
  };

  // node_modules/@hpke/core/esm/src/kems/dhkemPrimitives/x25519.js
  var PKCS8_ALG_ID_X25519 = new Uint8Array([
    48,
    46,
    2,
    1,
    0,
    48,
    5,
    6,
    3,
    43,
    101,
    110,
    4,
    34,
    4,
    32
  ]);

  // node_modules/@hpke/core/esm/src/kems/dhkemPrimitives/x448.js
  var PKCS8_ALG_ID_X448 = new Uint8Array([
    48,
    70,
    2,
    1,
    0,
    48,
    5,
    6,
    3,
    43,
    101,
    111,
    4,
    58,
    4,
    56
  ]);

  // node_modules/@hpke/chacha20poly1305/esm/src/chacha/utils.js
  function abool(b) {
    if (typeof b !== "boolean")
      throw new Error(`boolean expected, not ${b}`);
  }
  var wrapCipher = /* @__NO_SIDE_EFFECTS__ */ (params, constructor) => {
    function wrappedCipher(key, ...args) {
      abytes(key, void 0, "key");
      if (!isLE) {
        throw new Error("Non little-endian hardware is not yet supported");
      }
      if (params.nonceLength !== void 0) {
        const nonce = args[0];
        abytes(nonce, params.varSizeNonce ? void 0 : params.nonceLength, "nonce");
      }
      const tagl = params.tagLength;
      if (tagl && args[1] !== void 0)
        abytes(args[1], void 0, "AAD");
      const cipher = constructor(key, ...args);
      const checkOutput = (fnLength, output) => {
        if (output !== void 0) {
          if (fnLength !== 2)
            throw new Error("cipher output not supported");
          abytes(output, void 0, "output");
        }
      };
      let called = false;
      const wrCipher = {
        encrypt(data, output) {
          if (called) {
            throw new Error("cannot encrypt() twice with same key + nonce");
          }
          called = true;
          abytes(data);
          checkOutput(cipher.encrypt.length, output);
          return cipher.encrypt(data, output);
        },
        decrypt(data, output) {
          abytes(data);
          if (tagl && data.length < tagl) {
            throw new Error('"ciphertext" expected length bigger than tagLength=' + tagl);
          }
          checkOutput(cipher.decrypt.length, output);
          return cipher.decrypt(data, output);
        }
      };
      return wrCipher;
    }
    Object.assign(wrappedCipher, params);
    return wrappedCipher;
  };
  function checkOpts(defaults, opts) {
    if (opts == null || typeof opts !== "object") {
      throw new Error("options must be defined");
    }
    const merged = Object.assign(defaults, opts);
    return merged;
  }
  function equalBytes(a, b) {
    if (a.length !== b.length)
      return false;
    let diff = 0;
    for (let i = 0; i < a.length; i++)
      diff |= a[i] ^ b[i];
    return diff === 0;
  }
  function getOutput(expectedLength, out, onlyAligned = true) {
    if (out === void 0)
      return new Uint8Array(expectedLength);
    if (out.length !== expectedLength) {
      throw new Error('"output" expected Uint8Array of length ' + expectedLength + ", got: " + out.length);
    }
    if (onlyAligned && !isAligned32(out)) {
      throw new Error("invalid output, must be aligned");
    }
    return out;
  }
  function u64Lengths(dataLength, aadLength, isLE2) {
    abool(isLE2);
    const num = new Uint8Array(16);
    const view = createView(num);
    view.setBigUint64(0, numberToBigint(aadLength), isLE2);
    view.setBigUint64(8, numberToBigint(dataLength), isLE2);
    return num;
  }
  function isAligned32(bytes) {
    return bytes.byteOffset % 4 === 0;
  }

  // node_modules/@hpke/chacha20poly1305/esm/src/chacha/_arx.js
  var _utf8ToBytes = (str) => Uint8Array.from(str.split("").map((c) => c.charCodeAt(0)));
  var sigma16 = _utf8ToBytes("expand 16-byte k");
  var sigma32 = _utf8ToBytes("expand 32-byte k");
  var sigma16_32 = u32(sigma16);
  var sigma32_32 = u32(sigma32);
  function rotl(a, b) {
    return a << b | a >>> 32 - b;
  }
  function isAligned322(b) {
    return b.byteOffset % 4 === 0;
  }
  var BLOCK_LEN = 64;
  var BLOCK_LEN32 = 16;
  var MAX_COUNTER = 2 ** 32 - 1;
  var U32_EMPTY = Uint32Array.of();
  function runCipher(core, sigma, key, nonce, data, output, counter, rounds) {
    const len = data.length;
    const block = new Uint8Array(BLOCK_LEN);
    const b32 = u32(block);
    const isAligned = isAligned322(data) && isAligned322(output);
    const d32 = isAligned ? u32(data) : U32_EMPTY;
    const o32 = isAligned ? u32(output) : U32_EMPTY;
    for (let pos = 0; pos < len; counter++) {
      core(sigma, key, nonce, b32, counter, rounds);
      if (counter >= MAX_COUNTER)
        throw new Error("arx: counter overflow");
      const take = Math.min(BLOCK_LEN, len - pos);
      if (isAligned && take === BLOCK_LEN) {
        const pos32 = pos / 4;
        if (pos % 4 !== 0)
          throw new Error("arx: invalid block position");
        for (let j = 0, posj; j < BLOCK_LEN32; j++) {
          posj = pos32 + j;
          o32[posj] = d32[posj] ^ b32[j];
        }
        pos += BLOCK_LEN;
        continue;
      }
      for (let j = 0, posj; j < take; j++) {
        posj = pos + j;
        output[posj] = data[posj] ^ block[j];
      }
      pos += take;
    }
  }
  function createCipher(core, opts) {
    const { allowShortKeys, extendNonceFn, counterLength, counterRight, rounds } = checkOpts({
      allowShortKeys: false,
      counterLength: 8,
      counterRight: false,
      rounds: 20
    }, opts);
    if (typeof core !== "function")
      throw new Error("core must be a function");
    anumber(counterLength);
    anumber(rounds);
    abool(counterRight);
    abool(allowShortKeys);
    return (key, nonce, data, output, counter = 0) => {
      abytes(key, void 0, "key");
      abytes(nonce, void 0, "nonce");
      abytes(data, void 0, "data");
      const len = data.length;
      if (output === void 0)
        output = new Uint8Array(len);
      abytes(output, void 0, "output");
      anumber(counter);
      if (counter < 0 || counter >= MAX_COUNTER) {
        throw new Error("arx: counter overflow");
      }
      if (output.length < len) {
        throw new Error(`arx: output (${output.length}) is shorter than data (${len})`);
      }
      const toClean = [];
      const l = key.length;
      let k;
      let sigma;
      if (l === 32) {
        toClean.push(k = copyBytes(key));
        sigma = sigma32_32;
      } else if (l === 16 && allowShortKeys) {
        k = new Uint8Array(32);
        k.set(key);
        k.set(key, 16);
        sigma = sigma16_32;
        toClean.push(k);
      } else {
        abytes(key, 32, "arx key");
        throw new Error("invalid key size");
      }
      if (!isAligned322(nonce))
        toClean.push(nonce = copyBytes(nonce));
      const k32 = u32(k);
      if (extendNonceFn) {
        if (nonce.length !== 24) {
          throw new Error(`arx: extended nonce must be 24 bytes`);
        }
        extendNonceFn(sigma, k32, u32(nonce.subarray(0, 16)), k32);
        nonce = nonce.subarray(16);
      }
      const nonceNcLen = 16 - counterLength;
      if (nonceNcLen !== nonce.length) {
        throw new Error(`arx: nonce must be ${nonceNcLen} or 16 bytes`);
      }
      if (nonceNcLen !== 12) {
        const nc = new Uint8Array(12);
        nc.set(nonce, counterRight ? 0 : 12 - nonce.length);
        nonce = nc;
        toClean.push(nonce);
      }
      const n32 = u32(nonce);
      runCipher(core, sigma, k32, n32, data, output, counter, rounds);
      clean(...toClean);
      return output;
    };
  }

  // node_modules/@hpke/chacha20poly1305/esm/src/chacha/_poly1305.js
  function u8to16(a, i) {
    return a[i++] & 255 | (a[i++] & 255) << 8;
  }
  var Poly1305 = class {
    // Can be speed-up using BigUint64Array, at the cost of complexity
    constructor(key) {
      Object.defineProperty(this, "blockLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 16
      });
      Object.defineProperty(this, "outputLen", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 16
      });
      Object.defineProperty(this, "buffer", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: new Uint8Array(16)
      });
      Object.defineProperty(this, "r", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: new Uint16Array(10)
      });
      Object.defineProperty(this, "h", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: new Uint16Array(10)
      });
      Object.defineProperty(this, "pad", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: new Uint16Array(8)
      });
      Object.defineProperty(this, "pos", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 0
      });
      Object.defineProperty(this, "finished", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: false
      });
      key = copyBytes(abytes(key, 32, "key"));
      const t0 = u8to16(key, 0);
      const t1 = u8to16(key, 2);
      const t2 = u8to16(key, 4);
      const t3 = u8to16(key, 6);
      const t4 = u8to16(key, 8);
      const t5 = u8to16(key, 10);
      const t6 = u8to16(key, 12);
      const t7 = u8to16(key, 14);
      this.r[0] = t0 & 8191;
      this.r[1] = (t0 >>> 13 | t1 << 3) & 8191;
      this.r[2] = (t1 >>> 10 | t2 << 6) & 7939;
      this.r[3] = (t2 >>> 7 | t3 << 9) & 8191;
      this.r[4] = (t3 >>> 4 | t4 << 12) & 255;
      this.r[5] = t4 >>> 1 & 8190;
      this.r[6] = (t4 >>> 14 | t5 << 2) & 8191;
      this.r[7] = (t5 >>> 11 | t6 << 5) & 8065;
      this.r[8] = (t6 >>> 8 | t7 << 8) & 8191;
      this.r[9] = t7 >>> 5 & 127;
      for (let i = 0; i < 8; i++)
        this.pad[i] = u8to16(key, 16 + 2 * i);
    }
    process(data, offset, isLast = false) {
      const hibit = isLast ? 0 : 1 << 11;
      const { h, r } = this;
      const r0 = r[0];
      const r1 = r[1];
      const r2 = r[2];
      const r3 = r[3];
      const r4 = r[4];
      const r5 = r[5];
      const r6 = r[6];
      const r7 = r[7];
      const r8 = r[8];
      const r9 = r[9];
      const t0 = u8to16(data, offset + 0);
      const t1 = u8to16(data, offset + 2);
      const t2 = u8to16(data, offset + 4);
      const t3 = u8to16(data, offset + 6);
      const t4 = u8to16(data, offset + 8);
      const t5 = u8to16(data, offset + 10);
      const t6 = u8to16(data, offset + 12);
      const t7 = u8to16(data, offset + 14);
      const h0 = h[0] + (t0 & 8191);
      const h1 = h[1] + ((t0 >>> 13 | t1 << 3) & 8191);
      const h2 = h[2] + ((t1 >>> 10 | t2 << 6) & 8191);
      const h3 = h[3] + ((t2 >>> 7 | t3 << 9) & 8191);
      const h4 = h[4] + ((t3 >>> 4 | t4 << 12) & 8191);
      const h5 = h[5] + (t4 >>> 1 & 8191);
      const h6 = h[6] + ((t4 >>> 14 | t5 << 2) & 8191);
      const h7 = h[7] + ((t5 >>> 11 | t6 << 5) & 8191);
      const h8 = h[8] + ((t6 >>> 8 | t7 << 8) & 8191);
      const h9 = h[9] + (t7 >>> 5 | hibit);
      let c = 0;
      let d0 = c + h0 * r0 + h1 * (5 * r9) + h2 * (5 * r8) + h3 * (5 * r7) + h4 * (5 * r6);
      c = d0 >>> 13;
      d0 &= 8191;
      d0 += h5 * (5 * r5) + h6 * (5 * r4) + h7 * (5 * r3) + h8 * (5 * r2) + h9 * (5 * r1);
      c += d0 >>> 13;
      d0 &= 8191;
      let d1 = c + h0 * r1 + h1 * r0 + h2 * (5 * r9) + h3 * (5 * r8) + h4 * (5 * r7);
      c = d1 >>> 13;
      d1 &= 8191;
      d1 += h5 * (5 * r6) + h6 * (5 * r5) + h7 * (5 * r4) + h8 * (5 * r3) + h9 * (5 * r2);
      c += d1 >>> 13;
      d1 &= 8191;
      let d2 = c + h0 * r2 + h1 * r1 + h2 * r0 + h3 * (5 * r9) + h4 * (5 * r8);
      c = d2 >>> 13;
      d2 &= 8191;
      d2 += h5 * (5 * r7) + h6 * (5 * r6) + h7 * (5 * r5) + h8 * (5 * r4) + h9 * (5 * r3);
      c += d2 >>> 13;
      d2 &= 8191;
      let d3 = c + h0 * r3 + h1 * r2 + h2 * r1 + h3 * r0 + h4 * (5 * r9);
      c = d3 >>> 13;
      d3 &= 8191;
      d3 += h5 * (5 * r8) + h6 * (5 * r7) + h7 * (5 * r6) + h8 * (5 * r5) + h9 * (5 * r4);
      c += d3 >>> 13;
      d3 &= 8191;
      let d4 = c + h0 * r4 + h1 * r3 + h2 * r2 + h3 * r1 + h4 * r0;
      c = d4 >>> 13;
      d4 &= 8191;
      d4 += h5 * (5 * r9) + h6 * (5 * r8) + h7 * (5 * r7) + h8 * (5 * r6) + h9 * (5 * r5);
      c += d4 >>> 13;
      d4 &= 8191;
      let d5 = c + h0 * r5 + h1 * r4 + h2 * r3 + h3 * r2 + h4 * r1;
      c = d5 >>> 13;
      d5 &= 8191;
      d5 += h5 * r0 + h6 * (5 * r9) + h7 * (5 * r8) + h8 * (5 * r7) + h9 * (5 * r6);
      c += d5 >>> 13;
      d5 &= 8191;
      let d6 = c + h0 * r6 + h1 * r5 + h2 * r4 + h3 * r3 + h4 * r2;
      c = d6 >>> 13;
      d6 &= 8191;
      d6 += h5 * r1 + h6 * r0 + h7 * (5 * r9) + h8 * (5 * r8) + h9 * (5 * r7);
      c += d6 >>> 13;
      d6 &= 8191;
      let d7 = c + h0 * r7 + h1 * r6 + h2 * r5 + h3 * r4 + h4 * r3;
      c = d7 >>> 13;
      d7 &= 8191;
      d7 += h5 * r2 + h6 * r1 + h7 * r0 + h8 * (5 * r9) + h9 * (5 * r8);
      c += d7 >>> 13;
      d7 &= 8191;
      let d8 = c + h0 * r8 + h1 * r7 + h2 * r6 + h3 * r5 + h4 * r4;
      c = d8 >>> 13;
      d8 &= 8191;
      d8 += h5 * r3 + h6 * r2 + h7 * r1 + h8 * r0 + h9 * (5 * r9);
      c += d8 >>> 13;
      d8 &= 8191;
      let d9 = c + h0 * r9 + h1 * r8 + h2 * r7 + h3 * r6 + h4 * r5;
      c = d9 >>> 13;
      d9 &= 8191;
      d9 += h5 * r4 + h6 * r3 + h7 * r2 + h8 * r1 + h9 * r0;
      c += d9 >>> 13;
      d9 &= 8191;
      c = (c << 2) + c | 0;
      c = c + d0 | 0;
      d0 = c & 8191;
      c = c >>> 13;
      d1 += c;
      h[0] = d0;
      h[1] = d1;
      h[2] = d2;
      h[3] = d3;
      h[4] = d4;
      h[5] = d5;
      h[6] = d6;
      h[7] = d7;
      h[8] = d8;
      h[9] = d9;
    }
    finalize() {
      const { h, pad } = this;
      const g = new Uint16Array(10);
      let c = h[1] >>> 13;
      h[1] &= 8191;
      for (let i = 2; i < 10; i++) {
        h[i] += c;
        c = h[i] >>> 13;
        h[i] &= 8191;
      }
      h[0] += c * 5;
      c = h[0] >>> 13;
      h[0] &= 8191;
      h[1] += c;
      c = h[1] >>> 13;
      h[1] &= 8191;
      h[2] += c;
      g[0] = h[0] + 5;
      c = g[0] >>> 13;
      g[0] &= 8191;
      for (let i = 1; i < 10; i++) {
        g[i] = h[i] + c;
        c = g[i] >>> 13;
        g[i] &= 8191;
      }
      g[9] -= 1 << 13;
      let mask = (c ^ 1) - 1;
      for (let i = 0; i < 10; i++)
        g[i] &= mask;
      mask = ~mask;
      for (let i = 0; i < 10; i++)
        h[i] = h[i] & mask | g[i];
      h[0] = (h[0] | h[1] << 13) & 65535;
      h[1] = (h[1] >>> 3 | h[2] << 10) & 65535;
      h[2] = (h[2] >>> 6 | h[3] << 7) & 65535;
      h[3] = (h[3] >>> 9 | h[4] << 4) & 65535;
      h[4] = (h[4] >>> 12 | h[5] << 1 | h[6] << 14) & 65535;
      h[5] = (h[6] >>> 2 | h[7] << 11) & 65535;
      h[6] = (h[7] >>> 5 | h[8] << 8) & 65535;
      h[7] = (h[8] >>> 8 | h[9] << 5) & 65535;
      let f = h[0] + pad[0];
      h[0] = f & 65535;
      for (let i = 1; i < 8; i++) {
        f = (h[i] + pad[i] | 0) + (f >>> 16) | 0;
        h[i] = f & 65535;
      }
      clean(g);
    }
    update(data) {
      aexists(this);
      abytes(data);
      data = copyBytes(data);
      const { buffer, blockLen } = this;
      const len = data.length;
      for (let pos = 0; pos < len; ) {
        const take = Math.min(blockLen - this.pos, len - pos);
        if (take === blockLen) {
          for (; blockLen <= len - pos; pos += blockLen)
            this.process(data, pos);
          continue;
        }
        buffer.set(data.subarray(pos, pos + take), this.pos);
        this.pos += take;
        pos += take;
        if (this.pos === blockLen) {
          this.process(buffer, 0, false);
          this.pos = 0;
        }
      }
      return this;
    }
    destroy() {
      clean(this.h, this.r, this.buffer, this.pad);
    }
    digestInto(out) {
      aexists(this);
      aoutput(out, this);
      this.finished = true;
      const { buffer, h } = this;
      let { pos } = this;
      if (pos) {
        buffer[pos++] = 1;
        for (; pos < 16; pos++)
          buffer[pos] = 0;
        this.process(buffer, 0, true);
      }
      this.finalize();
      let opos = 0;
      for (let i = 0; i < 8; i++) {
        out[opos++] = h[i] >>> 0;
        out[opos++] = h[i] >>> 8;
      }
      return out;
    }
    digest() {
      const { buffer, outputLen } = this;
      this.digestInto(buffer);
      const res = buffer.slice(0, outputLen);
      this.destroy();
      return res;
    }
  };
  function wrapConstructorWithKey(hashCons) {
    const hashC = (msg, key) => hashCons(key).update(msg).digest();
    const tmp = hashCons(new Uint8Array(32));
    hashC.outputLen = tmp.outputLen;
    hashC.blockLen = tmp.blockLen;
    hashC.create = (key) => hashCons(key);
    return hashC;
  }
  var poly1305 = /* @__PURE__ */ (() => wrapConstructorWithKey((key) => new Poly1305(key)))();

  // node_modules/@hpke/chacha20poly1305/esm/src/chacha/chacha.js
  function chachaCore(s, k, n, out, cnt, rounds = 20) {
    const y00 = s[0], y01 = s[1], y02 = s[2], y03 = s[3], y04 = k[0], y05 = k[1], y06 = k[2], y07 = k[3], y08 = k[4], y09 = k[5], y10 = k[6], y11 = k[7], y12 = cnt, y13 = n[0], y14 = n[1], y15 = n[2];
    let x00 = y00, x01 = y01, x02 = y02, x03 = y03, x04 = y04, x05 = y05, x06 = y06, x07 = y07, x08 = y08, x09 = y09, x10 = y10, x11 = y11, x12 = y12, x13 = y13, x14 = y14, x15 = y15;
    for (let r = 0; r < rounds; r += 2) {
      x00 = x00 + x04 | 0;
      x12 = rotl(x12 ^ x00, 16);
      x08 = x08 + x12 | 0;
      x04 = rotl(x04 ^ x08, 12);
      x00 = x00 + x04 | 0;
      x12 = rotl(x12 ^ x00, 8);
      x08 = x08 + x12 | 0;
      x04 = rotl(x04 ^ x08, 7);
      x01 = x01 + x05 | 0;
      x13 = rotl(x13 ^ x01, 16);
      x09 = x09 + x13 | 0;
      x05 = rotl(x05 ^ x09, 12);
      x01 = x01 + x05 | 0;
      x13 = rotl(x13 ^ x01, 8);
      x09 = x09 + x13 | 0;
      x05 = rotl(x05 ^ x09, 7);
      x02 = x02 + x06 | 0;
      x14 = rotl(x14 ^ x02, 16);
      x10 = x10 + x14 | 0;
      x06 = rotl(x06 ^ x10, 12);
      x02 = x02 + x06 | 0;
      x14 = rotl(x14 ^ x02, 8);
      x10 = x10 + x14 | 0;
      x06 = rotl(x06 ^ x10, 7);
      x03 = x03 + x07 | 0;
      x15 = rotl(x15 ^ x03, 16);
      x11 = x11 + x15 | 0;
      x07 = rotl(x07 ^ x11, 12);
      x03 = x03 + x07 | 0;
      x15 = rotl(x15 ^ x03, 8);
      x11 = x11 + x15 | 0;
      x07 = rotl(x07 ^ x11, 7);
      x00 = x00 + x05 | 0;
      x15 = rotl(x15 ^ x00, 16);
      x10 = x10 + x15 | 0;
      x05 = rotl(x05 ^ x10, 12);
      x00 = x00 + x05 | 0;
      x15 = rotl(x15 ^ x00, 8);
      x10 = x10 + x15 | 0;
      x05 = rotl(x05 ^ x10, 7);
      x01 = x01 + x06 | 0;
      x12 = rotl(x12 ^ x01, 16);
      x11 = x11 + x12 | 0;
      x06 = rotl(x06 ^ x11, 12);
      x01 = x01 + x06 | 0;
      x12 = rotl(x12 ^ x01, 8);
      x11 = x11 + x12 | 0;
      x06 = rotl(x06 ^ x11, 7);
      x02 = x02 + x07 | 0;
      x13 = rotl(x13 ^ x02, 16);
      x08 = x08 + x13 | 0;
      x07 = rotl(x07 ^ x08, 12);
      x02 = x02 + x07 | 0;
      x13 = rotl(x13 ^ x02, 8);
      x08 = x08 + x13 | 0;
      x07 = rotl(x07 ^ x08, 7);
      x03 = x03 + x04 | 0;
      x14 = rotl(x14 ^ x03, 16);
      x09 = x09 + x14 | 0;
      x04 = rotl(x04 ^ x09, 12);
      x03 = x03 + x04 | 0;
      x14 = rotl(x14 ^ x03, 8);
      x09 = x09 + x14 | 0;
      x04 = rotl(x04 ^ x09, 7);
    }
    let oi = 0;
    out[oi++] = y00 + x00 | 0;
    out[oi++] = y01 + x01 | 0;
    out[oi++] = y02 + x02 | 0;
    out[oi++] = y03 + x03 | 0;
    out[oi++] = y04 + x04 | 0;
    out[oi++] = y05 + x05 | 0;
    out[oi++] = y06 + x06 | 0;
    out[oi++] = y07 + x07 | 0;
    out[oi++] = y08 + x08 | 0;
    out[oi++] = y09 + x09 | 0;
    out[oi++] = y10 + x10 | 0;
    out[oi++] = y11 + x11 | 0;
    out[oi++] = y12 + x12 | 0;
    out[oi++] = y13 + x13 | 0;
    out[oi++] = y14 + x14 | 0;
    out[oi++] = y15 + x15 | 0;
  }
  var chacha20 = /* @__PURE__ */ createCipher(chachaCore, {
    counterRight: false,
    counterLength: 4,
    allowShortKeys: false
  });
  var ZEROS16 = /* @__PURE__ */ new Uint8Array(16);
  var updatePadded = (h, msg) => {
    h.update(msg);
    const leftover = msg.length % 16;
    if (leftover)
      h.update(ZEROS16.subarray(leftover));
  };
  var ZEROS32 = /* @__PURE__ */ new Uint8Array(32);
  function computeTag(fn, key, nonce, ciphertext, AAD) {
    if (AAD !== void 0)
      abytes(AAD, void 0, "AAD");
    const authKey = fn(key, nonce, ZEROS32);
    const lengths = u64Lengths(ciphertext.length, AAD ? AAD.length : 0, true);
    const h = poly1305.create(authKey);
    if (AAD)
      updatePadded(h, AAD);
    updatePadded(h, ciphertext);
    h.update(lengths);
    const res = h.digest();
    clean(authKey, lengths);
    return res;
  }
  var _poly1305_aead = (xorStream) => (key, nonce, AAD) => {
    const tagLength = 16;
    return {
      encrypt(plaintext, output) {
        const plength = plaintext.length;
        output = getOutput(plength + tagLength, output, false);
        output.set(plaintext);
        const oPlain = output.subarray(0, -tagLength);
        xorStream(key, nonce, oPlain, oPlain, 1);
        const tag = computeTag(xorStream, key, nonce, oPlain, AAD);
        output.set(tag, plength);
        clean(tag);
        return output;
      },
      decrypt(ciphertext, output) {
        output = getOutput(ciphertext.length - tagLength, output, false);
        const data = ciphertext.subarray(0, -tagLength);
        const passedTag = ciphertext.subarray(-tagLength);
        const tag = computeTag(xorStream, key, nonce, data, AAD);
        if (!equalBytes(passedTag, tag))
          throw new Error("invalid tag");
        output.set(ciphertext.subarray(0, -tagLength));
        xorStream(key, nonce, output, output, 1);
        clean(tag);
        return output;
      }
    };
  };
  var chacha20poly1305 = /* @__PURE__ */ wrapCipher({ blockSize: 64, nonceLength: 12, tagLength: 16 }, _poly1305_aead(chacha20));

  // node_modules/@hpke/chacha20poly1305/esm/src/chacha20Poly1305.js
  var Chacha20Poly1305Context = class {
    constructor(key) {
      Object.defineProperty(this, "_key", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: void 0
      });
      this._key = new Uint8Array(toArrayBuffer(key));
    }
    async seal(iv, data, aad) {
      return await this._seal(toArrayBuffer(iv), toArrayBuffer(data), toArrayBuffer(aad));
    }
    async open(iv, data, aad) {
      return await this._open(toArrayBuffer(iv), toArrayBuffer(data), toArrayBuffer(aad));
    }
    _seal(iv, data, aad) {
      return new Promise((resolve) => {
        const ret = chacha20poly1305(this._key, new Uint8Array(iv), new Uint8Array(aad)).encrypt(new Uint8Array(data));
        resolve(ret.buffer);
      });
    }
    _open(iv, data, aad) {
      return new Promise((resolve) => {
        const ret = chacha20poly1305(this._key, new Uint8Array(iv), new Uint8Array(aad)).decrypt(new Uint8Array(data));
        resolve(ret.buffer);
      });
    }
  };
  var Chacha20Poly1305 = class {
    constructor() {
      Object.defineProperty(this, "id", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: AeadId.Chacha20Poly1305
      });
      Object.defineProperty(this, "keySize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
      Object.defineProperty(this, "nonceSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 12
      });
      Object.defineProperty(this, "tagSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 16
      });
    }
    createEncryptionContext(key) {
      return new Chacha20Poly1305Context(key);
    }
  };

  // node_modules/@hpke/dhkem-x25519/esm/src/primitives/x25519.js
  var _1n2 = 1n;
  var _2n2 = 2n;
  var _3n = 3n;
  var _5n = 5n;
  var ed25519_CURVE_p = 0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffedn;
  function ed25519_pow_2_252_3(x) {
    const _10n = 10n;
    const _20n = 20n;
    const _40n = 40n;
    const _80n = 80n;
    const P2 = ed25519_CURVE_p;
    const x2 = x * x % P2;
    const b2 = x2 * x % P2;
    const b4 = pow2(b2, _2n2, P2) * b2 % P2;
    const b5 = pow2(b4, _1n2, P2) * x % P2;
    const b10 = pow2(b5, _5n, P2) * b5 % P2;
    const b20 = pow2(b10, _10n, P2) * b10 % P2;
    const b40 = pow2(b20, _20n, P2) * b20 % P2;
    const b80 = pow2(b40, _40n, P2) * b40 % P2;
    const b160 = pow2(b80, _80n, P2) * b80 % P2;
    const b240 = pow2(b160, _80n, P2) * b80 % P2;
    const b250 = pow2(b240, _10n, P2) * b10 % P2;
    const pow_p_5_8 = pow2(b250, _2n2, P2) * x % P2;
    return { pow_p_5_8, b2 };
  }
  function adjustScalarBytes(bytes) {
    bytes[0] &= 248;
    bytes[31] &= 127;
    bytes[31] |= 64;
    return bytes;
  }
  var x25519 = /* @__PURE__ */ (() => {
    const P2 = ed25519_CURVE_p;
    return montgomery({
      P: P2,
      type: "x25519",
      powPminus2: (x) => {
        const { pow_p_5_8, b2 } = ed25519_pow_2_252_3(x);
        return mod(pow2(pow_p_5_8, _3n, P2) * b2, P2);
      },
      adjustScalarBytes
    });
  })();

  // node_modules/@hpke/dhkem-x25519/esm/src/hkdfSha256.js
  var HkdfSha2562 = class extends HkdfSha256Native {
    async extract(salt, ikm) {
      await this._setup();
      const saltBuf = salt.byteLength === 0 ? new ArrayBuffer(this.hashSize) : toArrayBuffer(salt);
      const ikmBuf = toArrayBuffer(ikm);
      if (saltBuf.byteLength !== this.hashSize) {
        return hmac(sha2562, new Uint8Array(saltBuf), new Uint8Array(ikmBuf)).buffer;
      }
      const key = await this._api.importKey("raw", saltBuf, this.algHash, false, [
        "sign"
      ]);
      return await this._api.sign("HMAC", key, ikmBuf);
    }
  };

  // node_modules/@hpke/dhkem-x25519/esm/src/dhkemX25519.js
  var X255192 = class extends XCurveDhkemPrimitives {
    constructor(hkdf) {
      super("X25519", 32, x25519, hkdf);
    }
    derive(sk, pk) {
      try {
        return Promise.resolve(this._curve.getSharedSecret(sk, pk));
      } catch (e) {
        return Promise.reject(new SerializeError(e));
      }
    }
  };
  var DhkemX25519HkdfSha2562 = class extends Dhkem {
    constructor() {
      const kdf = new HkdfSha2562();
      super(KemId.DhkemX25519HkdfSha256, new X255192(kdf), kdf);
      Object.defineProperty(this, "id", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: KemId.DhkemX25519HkdfSha256
      });
      Object.defineProperty(this, "secretSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
      Object.defineProperty(this, "encSize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
      Object.defineProperty(this, "publicKeySize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
      Object.defineProperty(this, "privateKeySize", {
        enumerable: true,
        configurable: true,
        writable: true,
        value: 32
      });
    }
  };

  // src/formats/hybrid.js
  var SUITE = "X25519, HKDF-SHA256, ChaCha20-Poly1305";
  var OVERHEAD = 48;
  var KEY_BYTES = 32;
  var suite = new CipherSuite({
    kem: new DhkemX25519HkdfSha2562(),
    kdf: new HkdfSha256(),
    aead: new Chacha20Poly1305()
  });
  var exact = (bytes) => bytes.slice().buffer;
  async function seal(publicKey, plaintext, info, derivedFrom) {
    const recipientPublicKey = await suite.kem.deserializePublicKey(exact(publicKey));
    const ekm = derivedFrom && exact(derivedFrom);
    const sender = await suite.createSenderContext({ recipientPublicKey, info: exact(info), ekm });
    const sealed = await sender.seal(exact(plaintext));
    return concat(new Uint8Array(sender.enc), new Uint8Array(sealed));
  }
  async function open(secretKey, ciphertext, info) {
    if (ciphertext.length < OVERHEAD) throw new Error("too short");
    const recipientKey = await suite.kem.deserializePrivateKey(exact(secretKey));
    const enc = exact(ciphertext.slice(0, KEY_BYTES));
    const recipient = await suite.createRecipientContext({ recipientKey, enc, info: exact(info) });
    return new Uint8Array(await recipient.open(exact(ciphertext.slice(KEY_BYTES))));
  }
  var hides = (publicKey) => seal(publicKey, new Uint8Array(), new Uint8Array()).then(() => true, () => false);

  // src/formats/signing.js
  var signing_exports = {};
  __export(signing_exports, {
    SIGNATURE_BYTES: () => SIGNATURE_BYTES,
    canCheck: () => canCheck,
    isSigned: () => isSigned
  });
  var SIGNATURE_BYTES = 64;
  var KEY_BYTES2 = 32;
  var P = (1n << 255n) - 19n;
  var SMALL = [
    0n,
    1n,
    P - 1n,
    P,
    P + 1n,
    0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
    0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n
  ];
  var BASE_POINT = `58${"66".repeat(31)}`;
  async function canCheck() {
    try {
      await crypto.subtle.importKey("raw", fromHex(BASE_POINT), "Ed25519", false, ["verify"]);
      return true;
    } catch {
      return false;
    }
  }
  async function isSigned(keyInHex, use, data, signature) {
    const bytes = fromHex(keyInHex);
    const y = toBig(bytes.slice().reverse()) & (1n << 255n) - 1n;
    if (bytes.length !== KEY_BYTES2 || SMALL.includes(y)) return false;
    const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
    return crypto.subtle.verify("Ed25519", key, signature, concat(label(use), data));
  }

  // src/formats/task.js
  var task_exports = {};
  __export(task_exports, {
    CLOCK_SECONDS: () => CLOCK_SECONDS,
    firstLive: () => firstLive,
    firstNear: () => firstNear,
    isClosed: () => isClosed,
    isNear: () => isNear,
    isSignedTask: () => isSignedTask,
    paidWindows: () => paidWindows,
    readTask: () => readTask,
    windowAt: () => windowAt
  });
  var CLOCK_SECONDS = 300;
  var FORMAT = 2;
  async function readTask(encoded, taskId, { origin } = globalThis.location ?? {}) {
    if (toHex(await sha256(new Uint8Array(encoded))) !== taskId) {
      throw new Error("The terms of this poll are not those of its name.");
    }
    const task = JSON.parse(new TextDecoder().decode(encoded));
    if (task.format !== FORMAT || task.suite !== SUITE) {
      throw new Error("This poll needs another page.");
    }
    if (!isSound(task)) {
      throw new Error("The terms of this poll are not sound: nothing was sent. Tell who gave you the link.");
    }
    if (task.issuer && new URL(task.issuer.url).origin === origin) {
      throw new Error(
        "Both services of this poll have one address: nothing was sent. Who has pass and invitation of everybody breaks the promise. Tell who gave you the link."
      );
    }
    return task;
  }
  function isSound({ issuer, proof, analyzer_sign_key, shuffler_sign_key }) {
    const keys = [analyzer_sign_key, shuffler_sign_key, ...issuer ? [issuer.sign_key] : []];
    const isMatched = proof === (issuer ? "slots" : "none");
    return new Set(keys).size === keys.length && isMatched && (!issuer || isPrivate(issuer.url));
  }
  function isPrivate(address) {
    try {
      const { protocol, hostname, username, password } = new URL(address);
      if (username || password) return false;
      const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
      return protocol === "https:" || protocol === "http:" && isHere;
    } catch {
      return false;
    }
  }
  var isSignedTask = (task) => task.proof === "slots";
  var windowAt = (task, seconds) => Math.floor(seconds / task.window_seconds);
  var firstNear = (task, seconds) => windowAt(task, seconds - CLOCK_SECONDS);
  var isNear = (task, window, seconds) => firstNear(task, seconds) <= window && window <= windowAt(task, seconds + CLOCK_SECONDS);
  var firstLive = (task, seconds) => windowAt(task, seconds - task.grace_seconds);
  function paidWindows(task) {
    const counts = ["epsilon", "delta"].flatMap((name) => {
      const [above, below2] = ratio(fraction(task[`budget_${name}`]), fraction(task[name]));
      return below2 ? [Number(above / below2)] : [];
    });
    return Math.min(...counts);
  }
  var isClosed = (task, results) => new Set(results.map((result) => result.window)).size >= paidWindows(task);

  // src/formats/card.js
  var VERSION = 2;
  var HASH_BYTES2 = 32;
  var [KEM, KDF, AEAD] = [32, 1, 3];
  var AGAIN = "Nothing of this time was sent. Load this page again later, and tell others if this lasts.";
  var keyConfig = (window, gatewayKey) => concat(number(window % 256, 1), number(KEM, 2), gatewayKey, ...[4, KDF, AEAD].map((n) => number(n, 2)));
  var encapsulationHeader = (window) => concat(number(window % 256, 1), ...[KEM, KDF, AEAD].map((n) => number(n, 2)));
  function encodeCard({ taskId, window, gatewayKey, innerKey, spki }) {
    return concat(
      number(VERSION, 1),
      taskId,
      number(window, 4),
      vec(vec(keyConfig(window, gatewayKey))),
      innerKey,
      number(spki ? 1 : 0, 1),
      spki ? vec(spki) : new Uint8Array()
    );
  }
  async function decodeCard(bytes) {
    const reader = new Reader(bytes);
    reader.take(1);
    const taskId = reader.take(HASH_BYTES2);
    const window = reader.number(4);
    const config = new Reader(new Reader(reader.vec()).vec());
    config.take(3);
    const gatewayKey = config.take(KEY_BYTES);
    const innerKey = reader.take(KEY_BYTES);
    const spki = reader.number(1) ? reader.vec() : null;
    const card = { taskId, window, gatewayKey, innerKey, spki };
    if (!same(encodeCard(card), bytes)) throw new Error("another card");
    return { ...card, digest: await sha256(bytes) };
  }
  async function openCard(sent) {
    const end = sent.length - 2 * SIGNATURE_BYTES;
    if (end < 0) throw new Error("too short");
    return decodeCard(sent.slice(0, end));
  }
  async function checkCard(sent, { task, taskId, window }) {
    let card;
    try {
      card = await openCard(sent);
    } catch {
      throw refused("it is no card");
    }
    const body = sent.slice(0, sent.length - 2 * SIGNATURE_BYTES);
    const [first, second] = [sent.slice(body.length, -SIGNATURE_BYTES), sent.slice(-SIGNATURE_BYTES)];
    if (!await isSigned(task.analyzer_sign_key, "card", body, first)) {
      throw refused("the second service did not sign it");
    }
    if (!await isSigned(task.shuffler_sign_key, "card", body, second)) {
      throw refused("the first service did not sign it");
    }
    if (toHex(card.taskId) !== taskId) throw refused("it is that of another poll");
    if (card.window !== window) throw refused("it is that of another time");
    if (Boolean(card.spki) !== isSignedTask(task)) throw refused("its issuer is not that of the poll");
    for (const key of [card.gatewayKey, card.innerKey]) {
      if (!await hides(key)) throw refused("one of its keys hides nothing");
    }
    if (card.spki) {
      try {
        modulusOf(card.spki);
      } catch {
        throw refused("its issuer's key is none");
      }
    }
    return card;
  }
  var refused = (why) => new Error(`The keys of this poll, its card, are not good: ${why}. ${AGAIN}`);

  // src/formats/marks.js
  var marks_exports = {};
  __export(marks_exports, {
    MARK_BYTES: () => MARK_BYTES,
    decodeMarks: () => decodeMarks,
    encodeMarks: () => encodeMarks,
    holds: () => holds,
    joinedMarks: () => joinedMarks,
    markOf: () => markOf,
    marksFileBytes: () => marksFileBytes,
    readHeader: () => readHeader,
    splitMarks: () => splitMarks
  });
  var MARK_BYTES = 16;
  var BATCH_ID_BYTES = 16;
  var PART_RECORDS = 1 << 14;
  var markOf = async (slot) => (await sha256(label("mark"), slot)).slice(0, MARK_BYTES);
  var encodeMarks = (cardDigest, marks) => concat(number(VERSION, 1), cardDigest, number(marks.length, 8), ...marks.slice().sort(compare));
  function decodeMarks(bytes) {
    const reader = new Reader(bytes);
    if (reader.number(1) !== VERSION) throw new Error("another version");
    const cardDigest = reader.take(HASH_BYTES2);
    const marks = reader.take(MARK_BYTES * reader.number(8));
    reader.end();
    for (let at = MARK_BYTES; at < marks.length; at += MARK_BYTES) {
      if (compare(markAt(marks, at - MARK_BYTES), markAt(marks, at)) > 0) throw new Error("not ascending");
    }
    return { cardDigest, marks };
  }
  var markAt = (marks, at) => marks.subarray(at, at + MARK_BYTES);
  var marksFileBytes = (slots) => 1 + HASH_BYTES2 + 8 + MARK_BYTES * slots;
  function holds(marks, mark) {
    let [low, high] = [0, marks.length / MARK_BYTES];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (compare(markAt(marks, MARK_BYTES * middle), mark) < 0) low = middle + 1;
      else high = middle;
    }
    return same(markAt(marks, MARK_BYTES * low), mark);
  }
  async function readHeader(bytes, shufflerKey) {
    const reader = new Reader(bytes);
    if (reader.number(1) !== VERSION || reader.number(1) > 1) throw new Error("another version");
    const cardDigest = reader.take(HASH_BYTES2);
    reader.take(BATCH_ID_BYTES + 4);
    const slots = reader.number(8);
    const parts = reader.number(4);
    if (parts !== Math.ceil(slots / PART_RECORDS)) throw new Error("another number of parts");
    reader.take(HASH_BYTES2 * parts);
    const marksHash = reader.take(HASH_BYTES2);
    const body = bytes.slice(0, reader.at);
    const signature = reader.take(SIGNATURE_BYTES);
    reader.end();
    if (!await isSigned(shufflerKey, "batch", body, signature)) throw new Error("not signed");
    return { cardDigest, marksHash, slots };
  }
  var joinedMarks = async (slots) => concat(...await Promise.all(slots.map(markOf)));
  var splitMarks = (joined) => split(joined, MARK_BYTES);

  // src/formats/report.js
  var report_exports = {};
  __export(report_exports, {
    DUMMY: () => DUMMY,
    SLOT_BYTES: () => SLOT_BYTES,
    encodeReport: () => encodeReport,
    openReport: () => openReport,
    openSlot: () => openSlot,
    reportId: () => reportId,
    sealReport: () => sealReport,
    sealSlots: () => sealSlots,
    slotsOfReport: () => slotsOfReport
  });
  var DUMMY = 4294967295;
  var SLOT_BYTES = 4 + OVERHEAD;
  var HEADER_BYTES = 7;
  var START_BYTES = 3 + HASH_BYTES2;
  var INFO = concat(text("message/vnd.esa.report request"), new Uint8Array(1));
  var slotInfo = (cardDigest) => concat(label("inner"), cardDigest);
  async function sealSlots(values, card) {
    const info = slotInfo(card.digest);
    const slots = [];
    for (const value of values) slots.push(await seal(card.innerKey, number(value, 4), info));
    return slots.sort(compare);
  }
  async function openSlot(slot, innerSecret, cardDigest) {
    const plain2 = await open(innerSecret, slot, slotInfo(cardDigest));
    if (plain2.length !== 4) throw new Error("another length inside");
    return readNumber(plain2);
  }
  var encodeReport = (cardDigest, slots, signatures) => concat(
    number(VERSION, 1),
    number(slots.length, 2),
    cardDigest,
    ...slots.flatMap((slot, i) => signatures.length ? [slot, signatures[i]] : [slot])
  );
  var slotsOfReport = (report, isSigned2) => split(report.slice(START_BYTES), SLOT_BYTES + (isSigned2 ? MODULUS_BYTES : 0)).map((record) => record.slice(0, SLOT_BYTES));
  var reportId = (report) => sha256(label("report"), report);
  async function sealReport(report, card, derivedFrom) {
    const header = encapsulationHeader(card.window);
    return concat(header, await seal(card.gatewayKey, report, concat(INFO, header), derivedFrom));
  }
  function openReport(sealed, gatewaySecret) {
    const info = concat(INFO, sealed.slice(0, HEADER_BYTES));
    return open(gatewaySecret, sealed.slice(HEADER_BYTES), info);
  }

  // src/formats/tokens.js
  var tokens_exports = {};
  __export(tokens_exports, {
    challengeDigest: () => challengeDigest,
    finalizeAll: () => finalizeAll,
    slotNonce: () => slotNonce,
    tokenCoins: () => tokenCoins,
    tokenInput: () => tokenInput,
    tokenRequest: () => tokenRequest
  });
  var TYPE = number(2, 2);
  var BLIND_BYTES = MODULUS_BYTES + 16;
  var slotNonce = (slot) => sha256(label("slot"), slot);
  async function challengeDigest({ issuerName, origin, cardDigest }) {
    const context = await sha256(label("token"), cardDigest);
    return sha256(TYPE, vec(text(issuerName)), number(32, 1), context, vec(text(origin)));
  }
  var tokenInput = async (nonce, challenge, spki) => concat(TYPE, nonce, challenge, await sha256(spki));
  async function tokenCoins(seed, { cardDigest, nonce }) {
    const rest = concat(cardDigest, new Uint8Array(1), nonce);
    return {
      salt: await expand(seed, concat(label("salt"), rest), SALT_BYTES),
      bytes: await expand(seed, concat(label("blind"), rest), BLIND_BYTES)
    };
  }
  async function blinded({ card, issuerName, origin, slots, seed }) {
    const n = modulusOf(card.spki);
    const challenge = await challengeDigest({ issuerName, origin, cardDigest: card.digest });
    const made = [];
    for (const slot of slots) {
      const nonce = await slotNonce(slot);
      const coins = await tokenCoins(seed, { cardDigest: card.digest, nonce });
      made.push(await blind(n, await tokenInput(nonce, challenge, card.spki), coins));
    }
    return made;
  }
  async function tokenRequest(from) {
    const start2 = concat(TYPE, (await sha256(from.card.spki)).slice(-1));
    return concat(...(await blinded(from)).flatMap(({ request: request3 }) => [start2, request3]));
  }
  async function finalizeAll(from, answer) {
    const made = await blinded(from);
    if (answer.length !== MODULUS_BYTES * made.length) throw new TokenRefused(NO_TOKEN);
    const n = modulusOf(from.card.spki);
    return split(answer, MODULUS_BYTES).map((part, i) => finalize(n, made[i], part));
  }

  // src/client/outcomes.js
  var outcomes_exports = {};
  __export(outcomes_exports, {
    ANSWERED: () => ANSWERED,
    DESTROYED: () => DESTROYED,
    DRAWN: () => DRAWN,
    ENDED: () => ENDED,
    FINAL: () => FINAL,
    MISSED: () => MISSED,
    NO_STORAGE: () => NO_STORAGE,
    OTHER_CARD: () => OTHER_CARD,
    SENT: () => SENT,
    SPENT: () => SPENT,
    UNSURE: () => UNSURE,
    answeredIn: () => answeredIn,
    cardOf: () => cardOf,
    find: () => find,
    forgetCards: () => forgetCards,
    inWindow: () => inWindow,
    isWaiting: () => isWaiting,
    keep: () => keep,
    keepDestroyed: () => keepDestroyed,
    keepEnd: () => keepEnd,
    keepMarks: () => keepMarks,
    keepPass: () => keepPass,
    keepReport: () => keepReport,
    keepSent: () => keepSent,
    liveBefore: () => liveBefore,
    nameOf: () => nameOf,
    plain: () => plain
  });
  var NO_STORAGE = "This browser does not let the page keep anything, so an answer could be randomised twice. Allow storage for this page, or use another browser.";
  var OTHER_CARD = "Another card was seen here for this time before. Nothing of this time was sent. Two cards for one time tell people apart: tell others of them.";
  var SPENT = "The budget of this poll pays for no more answers of one person than were given here. Another one would tell the analyser more than was agreed on: nothing of this time was sent. Ask who runs it for a new poll.";
  var OTHER_PASS = "The budget of this poll pays for no more answers with this link. What was randomised here before was sent, or is to be sent, with another link: open the page with that one.";
  var OTHER_INVITATION = "An answer of this time was made with this link and another invitation, and was sent, or may have been. There is one answer with a link: use that invitation, or wait for the next time. Nothing was sent now.";
  var DRAWN = "drawn";
  var FINAL = "final";
  var SENT = "sent";
  var ENDED = "ended";
  var ANSWERED = "marks";
  var UNSURE = "marks of a report without an answer";
  var MISSED = "missed";
  var DESTROYED = "marks of a report that the shuffler destroyed";
  var LEFT = [FINAL, SENT, ANSWERED, UNSURE];
  var COUNTED = [DRAWN, ...LEFT];
  var WINDOWS = 2 ** 32;
  var [CARDS, ROWS] = ["cards", "rows"];
  var VERSION2 = 2;
  var Refused = class extends Error {
  };
  function request(made) {
    return new Promise((resolve, reject) => {
      made.onsuccess = () => resolve(made.result);
      made.onerror = () => reject(made.error);
    });
  }
  async function database() {
    const opening = indexedDB.open("smoothdp", VERSION2);
    opening.onupgradeneeded = () => {
      const made = opening.result;
      for (const name of [...made.objectStoreNames]) made.deleteObjectStore(name);
      for (const name of [CARDS, ROWS]) made.createObjectStore(name);
    };
    return request(opening);
  }
  async function inStore(work) {
    let opened;
    try {
      opened = await database();
      const change2 = opened.transaction([CARDS, ROWS], "readwrite", { durability: "strict" });
      const done = new Promise((resolve, reject) => {
        change2.oncomplete = resolve;
        change2.onabort = () => reject(change2.error);
      });
      const [result] = await Promise.all([
        work(change2.objectStore(ROWS), change2.objectStore(CARDS)),
        done
      ]);
      return result;
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw new Error(NO_STORAGE, { cause: error });
    } finally {
      opened?.close();
    }
  }
  var plain = (secret) => secret.replace(/\s/g, "").toLowerCase();
  var nameOf = async (secret) => toHex(await sha256(text(plain(secret))));
  var keyOf = ({ taskId, window, who }) => [taskId, window, who];
  var allBefore = (taskId, window) => IDBKeyRange.bound([taskId, 0], [taskId, window], false, true);
  async function entries(store, range) {
    const found = [];
    for (const key of await request(store.getAllKeys(range))) {
      found.push([key, await request(store.get(key))]);
    }
    return found;
  }
  var ofWindow = (rows, { taskId, window }) => entries(rows, IDBKeyRange.bound([taskId, window], [taskId, window + 1], false, true));
  var isUnanswered = ({ state }) => state === FINAL || state === UNSURE;
  async function anothers(rows, place) {
    const found = await ofWindow(rows, place);
    return found.find(([key, row]) => key[2] !== place.who && isUnanswered(row))?.[1];
  }
  var find = (place) => inStore((rows) => request(rows.get(keyOf(place))));
  var inWindow = (place) => inStore(async (rows) => (await ofWindow(rows, place)).map(([, row]) => row));
  var passesOf = ({ pass }) => pass ? [pass].flat() : [];
  function isOf({ who, pass }, [key, row]) {
    const passes = passesOf(row);
    return key[2] === who || Boolean(pass && (!passes.length || passes.includes(pass)));
  }
  async function counted(rows, place) {
    const found = await entries(rows, allBefore(place.taskId, WINDOWS));
    const own2 = found.filter((one) => isOf(place, one) && COUNTED.includes(one[1].state));
    const windows = new Set(own2.map(([key]) => key[1]));
    windows.delete(place.window);
    return [...windows];
  }
  async function requireOnlyReport(rows, place, report) {
    const found = await ofWindow(rows, place);
    const another = found.some(([key, row]) => key[2] !== place.who && place.pass && isOf(place, [key, row]) && [...LEFT, DESTROYED].includes(row.state) && !(report && row.report && same(report, row.report)));
    if (another) throw new Refused(OTHER_INVITATION);
  }
  var answeredIn = (place) => inStore((rows) => counted(rows, place));
  var isWaiting = (place) => inStore(async (rows) => !await request(rows.get(keyOf(place))) && Boolean(await anothers(rows, place)));
  var cardOf = async ({ taskId, window }) => inStore(async (_, cards) => (await request(cards.get([taskId, window])))?.signed);
  var keep = (place, fresh, { adopt = false, most = 0 } = {}) => inStore(async (rows, cards) => {
    const key = keyOf(place);
    const earlier = await request(rows.get(key));
    if (earlier) return earlier;
    const isFull = (await counted(rows, place)).length >= most;
    const counts = adopt && !isFull && await anothers(rows, place);
    if (counts) {
      await request(rows.put({ ...counts, adopted: true }, key));
      return counts;
    }
    if (!fresh) return void 0;
    if (isFull) throw new Refused(SPENT);
    await requireOnlyReport(rows, place);
    const at = key.slice(0, 2);
    const seen = await request(cards.get(at));
    if (seen && !same(seen.digest, fresh.row.cardDigest)) throw new Refused(OTHER_CARD);
    if (!seen?.signed) await request(cards.put({ digest: fresh.row.cardDigest, signed: fresh.signed }, at));
    const row = place.pass ? { ...fresh.row, pass: place.pass } : fresh.row;
    await request(rows.put(row, key));
    return row;
  });
  async function changed(rows, key, before, made) {
    const row = await request(rows.get(key));
    if (row?.state !== before) return;
    const { cardDigest, pass, ends, isSigned: isSigned2 } = row;
    const kept = Object.entries({ cardDigest, pass, ends, isSigned: isSigned2 }).filter(([, one]) => one !== void 0);
    await request(rows.put({ ...Object.fromEntries(kept), ...made(row) }, key));
  }
  var change = (place, before, made) => inStore((rows) => changed(rows, keyOf(place), before, () => made));
  var keepPass = (place, most) => inStore(async (rows) => {
    const row = await request(rows.get(keyOf(place)));
    const passes = row && passesOf(row);
    if (!place.pass || !passes) return;
    await requireOnlyReport(rows, place, row.report);
    if (passes.includes(place.pass)) return;
    if ((await counted(rows, place)).length >= most) throw new Refused(OTHER_PASS);
    if (!passes.length) return;
    await request(rows.put({ ...row, pass: [...passes, place.pass] }, keyOf(place)));
  });
  var keepReport = (place, report) => inStore(async (rows) => {
    await requireOnlyReport(rows, place, report);
    await changed(rows, keyOf(place), DRAWN, () => ({ state: FINAL, report }));
  });
  var keepEnd = (place) => change(place, DRAWN, { state: ENDED });
  var keepSent = (place) => inStore(async (rows) => {
    const own2 = await request(rows.get(keyOf(place))) ?? {};
    const [what, state] = own2.report ? ["report", SENT] : ["marks", ANSWERED];
    for (const [key, row] of await ofWindow(rows, place)) {
      if (isUnanswered(row) && own2[what] && row[what] && same(row[what], own2[what])) {
        await request(rows.put({ ...row, state }, key));
      }
    }
  });
  var liveBefore = (taskId, { window, begun }, seconds) => inStore(async (rows) => (await entries(rows, IDBKeyRange.bound([""], ["￿"], false, true))).filter(
    ([[task, at], { state, ends, drawnEnds = ends }]) => [DRAWN, FINAL, SENT].includes(state) && (task === taskId ? at < (state === DRAWN ? begun : window) : (state === DRAWN ? drawnEnds : ends) <= seconds)
  ));
  async function keepMarks([taskId, window, who], marks) {
    const place = { taskId, window, who };
    if (marks.length === 0) {
      await change(place, DRAWN, { state: MISSED });
      return;
    }
    for (const [before, state] of [[FINAL, UNSURE], [SENT, ANSWERED]]) {
      await change(place, before, { state, marks });
    }
  }
  var keepDestroyed = (place) => inStore(async (rows) => {
    const own2 = (await ofWindow(rows, place)).filter((one) => isOf(place, one));
    for (const [key, { state }] of own2) {
      if (![ANSWERED, UNSURE].includes(state)) continue;
      await changed(rows, key, state, ({ marks }) => ({ state: DESTROYED, marks }));
    }
  });
  var forgetCards = (taskId, window) => inStore(async (_, cards) => {
    for (const [key, { digest: digest2 }] of await entries(cards, allBefore(taskId, window))) {
      await request(cards.put({ digest: digest2 }, key));
    }
  });

  // src/client/noise.js
  var noise_exports = {};
  __export(noise_exports, {
    bernoulliExp: () => bernoulliExp,
    clumpSize: () => clumpSize,
    geometric: () => geometric,
    shareOfNoise: () => shareOfNoise,
    splitByUrn: () => splitByUrn
  });
  function bernoulliExp([above, under], source) {
    for (let whole = above / under; whole > 0n; whole--) {
      if (!smallExp([1n, 1n], source)) return false;
    }
    return smallExp([above % under, under], source);
  }
  function smallExp([above, under], source) {
    let k = 1n;
    while (bernoulli([above, under * k], source)) k++;
    return k % 2n === 1n;
  }
  function geometric([s, t], source) {
    let u;
    do
      u = below(t, source);
    while (!bernoulliExp([u, t], source));
    let v = 0n;
    while (bernoulliExp([1n, 1n], source)) v++;
    return (u + t * v) / s;
  }
  function shareOfNoise(cells, design, rate, source) {
    let total = 0n;
    for (let whole = cells / design; whole > 0n; whole--) total += geometric(rate, source);
    const rest = cells % design;
    if (!rest) return total;
    let successes = 0n;
    const draws = geometric(rate, source);
    for (let draw = 0n; draw < draws; draw++) {
      if (below(design * (draw + 1n), source) < rest + design * successes) successes++;
    }
    return total + successes;
  }
  function splitByUrn(units, cells, design, source) {
    const found = [];
    for (let unit = 0n; unit < units; unit++) {
      const ticket = below(cells + design * unit, source);
      found.push(ticket < cells ? Number(ticket) : found[Number((ticket - cells) / design)]);
    }
    return found;
  }
  function clumpSize(largest, source) {
    let whole = 1n;
    for (let size2 = 2n; size2 <= largest; size2++) whole *= size2;
    let total = 0n;
    for (let size2 = 1n; size2 <= largest; size2++) total += whole / size2;
    let ticket = below(total, source);
    let size = 1n;
    for (; ticket >= whole / size; size++) ticket -= whole / size;
    return Number(size);
  }

  // src/client/randomize.js
  var WORD_BITS = 64;
  var UNIT_BITS = 62n;
  var PARAMETERS = {
    low_communication_histogram: ["false_positive"],
    paired_count: ["clump", "largest", "design"],
    paired_histogram: ["clump", "largest", "design"],
    split_sum: ["modulusBits", "design"]
  };
  var parameter = (task, name) => task.parameters[PARAMETERS[task.protocol].indexOf(name)];
  var isNumber = ({ protocol }) => protocol === "real_sum" || protocol === "split_sum";
  var isBinned = ({ protocol }) => protocol.endsWith("histogram");
  function checkDatum(task, datum) {
    if (isNumber(task)) fraction(datum);
    else if (isBinned(task)) binOf(task, datum);
    else bitOf(datum);
  }
  function randomize(task, datum, source = randomBytes) {
    const make2 = MESSAGES[task.protocol];
    if (!make2) throw new Error("This page does not know what this poll collects.");
    const values = make2(task, datum, source);
    while (values.length < task.slots) values.push(DUMMY);
    return values;
  }
  var MESSAGES = {
    boolean_sum: (task, datum, source) => [flip(task, bitOf(datum), source)],
    real_sum(task, datum, source) {
      const ones = roundedPart(task, datum, source);
      return Array.from({ length: task.size }, (_, i) => flip(task, i < ones ? 1 : 0, source));
    },
    histogram(task, datum, source) {
      const omission = fraction(task.noise);
      const noise = allBins(task).filter(() => !bernoulli(omission, source));
      return [binOf(task, datum), ...noise];
    },
    /** Noise that does not fit is drawn again, all bins together. */
    low_communication_histogram(task, datum, source) {
      const own2 = binOf(task, datum);
      const probability = fraction(task.noise);
      for (; ; ) {
        const noise = allBins(task).filter(() => bernoulli(probability, source));
        if (noise.length < task.slots) return [own2, ...noise];
      }
    },
    paired_count: (task, datum, source) => signs(task, bitOf(datum), 1, source),
    paired_histogram: (task, datum, source) => signs(task, 2 * binOf(task, datum) + 1, task.size, source),
    /** m shares, all but the last uniform, of a number and its noise modulo 2^b. */
    split_sum(task, datum, source) {
      const rest = BigInt(parameter(task, "modulusBits"));
      const design = BigInt(parameter(task, "design"));
      const rate = ratio(fraction(task.noise), [BigInt(task.size), 1n]);
      let total = BigInt(roundedPart(task, datum, source));
      total += shareOfNoise(1n, design, rate, source) - shareOfNoise(1n, design, rate, source);
      const shares = Array.from({ length: task.slots - 1 }, () => bits(Number(rest), source));
      const last = total - shares.reduce((sum, share) => sum + share, 0n);
      return [...shares, BigInt.asUintN(Number(rest), last)].map(Number);
    }
  };
  function signs(task, own2, cells, source) {
    const design = BigInt(parameter(task, "design"));
    const largest = BigInt(parameter(task, "largest"));
    const [rate, clump] = [fraction(task.noise), fraction(parameter(task, "clump"))];
    const noise = () => {
      const units = shareOfNoise(BigInt(cells), design, rate, source);
      return splitByUrn(units, BigInt(cells), design, source);
    };
    for (; ; ) {
      const sent = [own2, ...noise().map((cell) => 2 * cell + 1), ...noise().map((cell) => 2 * cell)];
      for (let cell = 0; cell < cells; cell++) {
        const pairs = bernoulli(clump, source) ? clumpSize(largest, source) : 0;
        for (let pair = 0; pair < pairs; pair++) sent.push(2 * cell + 1, 2 * cell);
      }
      if (sent.length <= task.slots) return sent;
    }
  }
  var flip = (task, bit, source) => bit ^ (bits(WORD_BITS, source) < BigInt(task.noise) ? 1 : 0);
  var allBins = (task) => Array.from({ length: task.size }, (_, bin) => bin);
  function bitOf(datum) {
    if (datum !== 0 && datum !== 1) throw new Error("the answer must be 0 or 1");
    return datum;
  }
  function binOf(task, datum) {
    const places2 = new Map(task.domain.map((name, place2) => [name, place2]));
    const place = task.domain.length ? places2.get(datum) ?? -1 : datum;
    if (!Number.isInteger(place) || place < 0 || place >= task.size) {
      throw new Error("the answer must be one of the choices");
    }
    return place;
  }
  function roundedPart(task, datum, source) {
    const [low, high] = task.bounds.map(fraction);
    let value = fraction(datum);
    if (less(value, low)) value = low;
    if (less(high, value)) value = high;
    const [above, under] = ratio(subtract(value, low), subtract(high, low));
    const product = BigInt(task.size) * round([above << UNIT_BITS, under]);
    const rest = product & (1n << UNIT_BITS) - 1n;
    return Number(product >> UNIT_BITS) + (bits(Number(UNIT_BITS), source) < rest ? 1 : 0);
  }

  // src/client/client.js
  var SEED_BYTES = 32;
  var CLOCK = "That time is not the present one by the clock of this device. Nothing of this time was sent. Set the clock right, or load this page again.";
  var GONE = "What was kept of this answer is not there any more: its time is over by the clock of this device, or the storage of this page was cleared. Nothing more is sent.";
  async function takePart({ task, place, datum, signed, seconds, adopt = false }) {
    const most = paidWindows(task);
    const earlier = await keep(place, null, { adopt, most });
    if (earlier) return earlier;
    const { taskId, window } = place;
    if (!isNear(task, window, seconds)) throw new Error(CLOCK);
    const card = await checkCard(signed, { task, taskId, window });
    const slots = await sealSlots(randomize(task, datum), card);
    const over = (window + 1) * task.window_seconds, ends = over + task.grace_seconds;
    const drawnEnds = Math.min(ends, over + CLOCK_SECONDS);
    const row = isSignedTask(task) ? { state: DRAWN, slots: concat(...slots), seed: randomBytes(SEED_BYTES), drawnEnds } : { state: FINAL, report: encodeReport(card.digest, slots, []) };
    const kept = { cardDigest: card.digest, ends, isSigned: isSignedTask(task), ...row };
    const fresh = { row: kept, signed };
    return keep(place, fresh, { adopt, most });
  }
  var request2 = (poll, row) => orEnd(poll.place, async () => tokenRequest(await drawn(poll, row)));
  var finish = (poll, row, answer) => orEnd(poll.place, async () => {
    const from = await drawn(poll, row);
    const signatures = await finalizeAll(from, answer);
    const report = encodeReport(from.card.digest, from.slots, signatures);
    await keepReport(poll.place, report);
  });
  async function sealedReport({ place }) {
    const { report } = await find(place) ?? {};
    if (!report) throw new Error(GONE);
    return sealReport(report, await cardOf2(place));
  }
  async function settle({ task, taskId, seconds }) {
    const live = firstLive(task, seconds);
    const before = { window: live, begun: Math.max(live, firstNear(task, seconds)) };
    for (const [key, row] of await liveBefore(taskId, before, seconds)) {
      await keepMarks(key, await ownMarks(row, row.isSigned ?? isSignedTask(task)));
    }
    await forgetCards(taskId, live);
  }
  async function ownMarks(row, isSigned2) {
    if (!row?.report) return row?.marks ?? new Uint8Array();
    return joinedMarks(slotsOfReport(row.report, isSigned2));
  }
  async function cardOf2(place) {
    const signed = await cardOf(place);
    if (!signed) throw new Error(GONE);
    return openCard(signed);
  }
  async function drawn({ task, place }, { slots, seed }) {
    return {
      card: await cardOf2(place),
      issuerName: task.issuer.name,
      origin: task.origin,
      slots: split(slots, SLOT_BYTES),
      seed
    };
  }
  async function orEnd(place, work) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof TokenRefused) await keepEnd(place);
      throw error;
    }
  }

  // src/client/inclusion.js
  var inclusion_exports = {};
  __export(inclusion_exports, {
    NO_MARKS: () => NO_MARKS,
    STANDING: () => STANDING,
    lookUp: () => lookUp,
    marksSize: () => marksSize,
    readResult: () => readResult
  });
  var STANDING = {
    INCLUDED: "Your report is in the batch of this window: the shuffler handed it over, and the analyser signed that it got it. The marks do not show that it was counted.",
    LEFT_OUT: "Your report is not in the batch of this window: the shuffler did not hand it over, although it had said that it has it, or somebody had a copy and sent that too. Tell who runs the shuffler, and the others.",
    NOT_THERE: "Your report is not in the batch of this window; this machine never got the shuffler's word that it had come.",
    IN_PART: "A part of your report is in the batch of this window: the shuffler, or somebody on the way to it, took it apart. Tell who runs the shuffler, and the others.",
    DENIED: "The shuffler and the analyser signed different lists of what the batch holds. Publish both, with their signatures: one of the two is not telling the truth.",
    OTHER_CARD: "The result was made with another card than yours: two cards were signed for this window, or the analyser shows the batch of another one. Publish both.",
    DESTROYED: "The shuffler had said that it destroyed the reports of this window, and there is a batch all the same. Tell who runs the shuffler, and the others.",
    NOT_SENT: "Nothing of yours was sent in this window."
  };
  var NOT_GOOD = "What is published is not what both services signed. Load the page again; if that does not help, ask who runs the services.";
  var NO_MARKS = "The first service does not show the marks of this time now, in which this page looks for your report. It asks again; if that does not help, ask who runs that service.";
  async function readResult({ task, taskId }, { result, signature }) {
    const hash = await sha256(text(result));
    if (!await isSigned(task.analyzer_sign_key, "result", hash, fromHex(signature))) {
      throw new Error(NOT_GOOD);
    }
    const document2 = JSON.parse(result);
    if (document2.task_id !== taskId) throw new Error(NOT_GOOD);
    return document2;
  }
  async function evidenceOf(task, document2) {
    try {
      const cardDigest = fromHex(document2.card_digest);
      const marksHash = fromHex(document2.marks_sha256);
      const header = await readHeader(fromHex(document2.batch_header), task.shuffler_sign_key);
      if (header.slots <= task.slots * task.max_batch) return { cardDigest, marksHash, header };
    } catch {
    }
    throw new Error(NOT_GOOD);
  }
  var marksSize = async ({ task }, document2) => marksFileBytes((await evidenceOf(task, document2)).header.slots);
  async function lookUp({ task }, row, document2, marksFile, why) {
    const { cardDigest, marksHash, header } = await evidenceOf(task, document2);
    const own2 = splitMarks(await ownMarks(row, isSignedTask(task)));
    if (!own2.length) return STANDING.NOT_SENT;
    const kept = row.cardDigest;
    if (!same(cardDigest, kept) || !same(header.cardDigest, kept)) return STANDING.OTHER_CARD;
    if (!same(marksHash, header.marksHash)) return STANDING.DENIED;
    if (row.state === DESTROYED) return STANDING.DESTROYED;
    if (!marksFile) throw why ?? new Error(NO_MARKS);
    let file;
    try {
      file = decodeMarks(marksFile);
    } catch {
      throw new Error(NOT_GOOD);
    }
    if (!same(await sha256(marksFile), header.marksHash) || !same(file.cardDigest, kept)) {
      throw new Error(NOT_GOOD);
    }
    const found = own2.filter((mark) => holds(file.marks, mark)).length;
    if (found === own2.length) return STANDING.INCLUDED;
    if (found) return STANDING.IN_PART;
    return [SENT, ANSWERED].includes(row.state) ? STANDING.LEFT_OUT : STANDING.NOT_THERE;
  }

  // src/client/secrets.js
  var SECRET = /^[0-9a-f]{96}$/;
  var isSecret = (typed) => SECRET.test(plain(typed));
  var malformed = (name, whose) => `That is no ${name}: one is 96 digits and letters from a to f. Copy all of it, as the ${whose} gave it to you. Nothing was sent.`;
  var ONE_FOR_BOTH = "Pass and invitation are the same here. They come by two ways, and the service of one must not see the other: type the invitation that the second service's side gave you. Nothing was sent.";
  function problemOf(task, { pass, invitation }) {
    if (!isSecret(pass)) return malformed("pass", "first service");
    if (!isSignedTask(task)) return "";
    if (!isSecret(invitation)) return malformed("invitation", "second service's side");
    return plain(pass) === plain(invitation) ? ONE_FOR_BOTH : "";
  }

  // src/client/submit.js
  var submit_exports = {};
  __export(submit_exports, {
    CARDS: () => CARDS2,
    EXCHANGED: () => EXCHANGED,
    EXCHANGED_LATE: () => EXCHANGED_LATE,
    ISSUER: () => ISSUER,
    OVER: () => OVER,
    REFUSED: () => REFUSED,
    SHUFFLER: () => SHUFFLER,
    USED: () => USED,
    WAITING: () => WAITING,
    placeOf: () => placeOf,
    submit: () => submit
  });
  var ATTEMPTS = 5;
  var MOST_WAIT = 310;
  var NO_SECRET = 401;
  var GONE2 = 410;
  var NEXT = "Take part in the next window";
  var CLOCK2 = "Set this machine's clock right, or wait for the window to begin";
  var USED = "This invitation was used in this window: from another device, under another name, from here before the state of this machine was cleared, or by somebody else. Finish there, or take part in the next window";
  var CARDS2 = { 404: "There is no card of this window yet, or it is over, or this machine's clock is wrong" };
  var ISSUER = {
    401: "Ask who runs the analyser for an invitation of this task",
    404: "This window has no card, or another issuer serves the task; check the address",
    409: USED,
    410: `The window is over. ${NEXT}`,
    425: CLOCK2,
    429: `The issuer has answered this request six times. ${NEXT}`
  };
  var EXCHANGED = ". If what you typed there was a pass, the second service's side has it now: do not use it, and ask who runs the shuffler for another one";
  var EXCHANGED_LATE = ". If this was your invitation, the first service has seen it now: ask who runs the analyser for another one";
  var STOLEN = "If they were not yours, somebody else has your pass: ask for another one. ";
  var SHUFFLER = {
    401: "Ask who runs the shuffler for a pass of this task",
    403: "The shuffler does not take the tokens: tell who runs the analyser and the shuffler",
    404: "This shuffler has another card for the window, or serves another task",
    409: `Another report came with this pass in this window, or this report with another pass. ${STOLEN}Give the pass of before, or: ${NEXT}`,
    410: `The window is over. ${NEXT}`,
    425: CLOCK2,
    429: `Too many reports of this pass were not good. ${STOLEN}${NEXT}`
  };
  var WAITING = "An answer was randomised here with another link, and is not known to have arrived: it is sent again, whatever you choose now.";
  var NOT_KEPT = "An answer was given here before, for a time that this device took to be over: it is not kept any more, and is not made anew. ";
  var OVER = {
    [ANSWERED]: `${NOT_KEPT}It had arrived.`,
    [UNSURE]: `${NOT_KEPT}It may have arrived.`,
    [DESTROYED]: `${NOT_KEPT}It was destroyed with all others of its time, which were too few.`,
    [MISSED]: `${NOT_KEPT}Nothing of this time was sent.`
  };
  var REFUSED = "The tokens of this time were refused here: nothing of this time was sent, and nothing will be. Take part in the next window.";
  async function placeOf({ task, taskId, window, pass, invitation }) {
    const byPass = await nameOf(pass);
    if (!isSignedTask(task)) return { taskId, window, who: byPass };
    return { taskId, window, who: await nameOf(invitation), pass: byPass };
  }
  async function submit({
    task,
    taskId,
    pass,
    invitation = "",
    datum,
    window,
    anotherPerson = false,
    fetcher,
    pause = wait,
    attempts = ATTEMPTS,
    seconds = () => Date.now() / 1e3
  }) {
    const place = await placeOf({ task, taskId, window, pass, invitation });
    const sending = { fetcher, pause, attempts };
    const adopt = !isSignedTask(task) && !anotherPerson;
    await settle({ task, taskId, seconds: seconds() });
    let problem;
    await prepare({ task, place, invitation, datum, sending, adopt, seconds }).catch((error) => {
      if (error.status === NO_SECRET) throw error;
      problem = error;
    });
    const report = { task, taskId, pass, sending };
    const late = { ...place, window: window - 1 };
    if ((await find(late))?.state === FINAL) {
      await handIn({ ...report, place: late, sending: { ...sending, attempts: 1 } }).catch((error) => {
        if (error.status === NO_SECRET) throw error;
      });
    }
    if (problem) throw problem;
    const kept = await find(place);
    if (!kept) throw new Error(GONE);
    if (kept.state === SENT) return true;
    if (kept.state !== FINAL) {
      throw new Error(kept.state === ENDED ? REFUSED : OVER[kept.state]);
    }
    await handIn({ ...report, place });
    return false;
  }
  async function prepare({ task, place, invitation, datum, sending, adopt, seconds }) {
    const { taskId, window } = place;
    const poll = { task, place };
    const issuer = task.issuer?.url.replace(/\/$/, "") ?? "";
    let kept = await keep(place, null, { adopt, most: paidWindows(task) });
    if (!kept) {
      checkDatum(task, datum);
      await askWhatWasDestroyed(task, place, sending);
      const signed = await untilAnswered(200, CARDS2, sending, () => [`${issuer}/v2/tasks/${taskId}/cards/${window}`]);
      kept = await takePart({ task, place, datum, signed, seconds: seconds(), adopt });
    }
    if (kept.state !== DRAWN) return;
    try {
      const body = await request2(poll, kept);
      const answer = await untilAnswered(200, { ...ISSUER, 401: ISSUER[401] + EXCHANGED }, sending, () => [`${issuer}/v2/tokens/${taskId}/${window}`, posted(body, invitation, "token-requests")]);
      await finish(poll, kept, answer);
    } catch (error) {
      const row = await find(place);
      if (!row || [DRAWN, ENDED].includes(row.state)) throw error;
    }
  }
  async function askWhatWasDestroyed(task, place, { fetcher }) {
    const windows = await answeredIn(place);
    if (windows.length < paidWindows(task)) return;
    for (const window of windows) {
      const path = `/v2/tasks/${place.taskId}/marks/${window}`;
      const answer = await ask(path, { method: "HEAD" }, { fetcher }).catch((error) => error);
      if (answer instanceof Lost) return;
      if (answer.status === GONE2) await keepDestroyed({ ...place, window });
    }
  }
  async function handIn({ task, taskId, pass, place, sending }) {
    await keepPass(place, paidWindows(task));
    const words = { ...SHUFFLER, 401: SHUFFLER[401] + EXCHANGED_LATE };
    await untilAnswered(202, words, sending, async () => {
      const body = await sealedReport({ place });
      return [`/v2/reports/${taskId}/${place.window}`, posted(body, pass, "sealed-report")];
    });
    await keepSent(place);
  }
  var posted = (body, secret, kind) => ({
    method: "POST",
    body,
    headers: {
      authorization: `Bearer ${plain(secret)}`,
      "content-type": `application/vnd.esa.${kind}`
    }
  });
  async function untilAnswered(wanted, words, { fetcher, pause, attempts }, make2) {
    let waited = false;
    const once = async () => {
      const [url, fields] = await make2();
      return ask(url, fields, { fetcher }).catch((error) => {
        if (!(error instanceof Lost)) throw error;
      });
    };
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt) await pause(Math.min(30, 0.2 * 2 ** attempt));
      let answer = await once();
      if (answer?.status === 425 && !waited && (answer.seconds ?? MOST_WAIT) < MOST_WAIT) {
        waited = true;
        await pause(answer.seconds);
        answer = await once();
      }
      if (!answer) continue;
      if (answer.status === wanted) return answer.body;
      if (answer.status < 500 && answer.status !== 408) {
        const remedy = words[answer.status] ?? `A service refused this (${answer.status})`;
        throw Object.assign(new Error(`${remedy}.`), { status: answer.status });
      }
    }
    throw new Error("The service does not answer. Press the button again: the same is sent.");
  }
  var wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1e3 * seconds));

  // src/page/chart.js
  var SVG = "http://www.w3.org/2000/svg";
  var MIDDLE = 14;
  function make(name, fields, words) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(fields)) element.setAttribute(key, value);
    if (words !== void 0) element.textContent = words;
    return element;
  }
  function chart(rows) {
    const left = Math.min(...rows.map((r) => Math.min(r.low, r.value - r.error)));
    const right = Math.max(...rows.map((r) => Math.max(r.high, r.value + r.error)));
    const share = (value) => 100 * (value - left) / (right - left);
    const x = (value) => `${share(value)}%`;
    const line = (a, b, top, bottom) => make("line", { x1: x(a), x2: x(b), y1: top, y2: bottom });
    const picture = document.createElement("div");
    picture.setAttribute("aria-hidden", "true");
    for (const row of rows) {
      const label2 = document.createElement("div");
      label2.className = "label";
      label2.textContent = row.label;
      const [from, to] = [Math.min(row.low, row.value), Math.max(row.low, row.value)];
      const [a, b] = [row.value - row.error, row.value + row.error];
      const whisker = make("g", { class: "whisker" });
      whisker.append(
        line(a, b, MIDDLE, MIDDLE),
        line(a, a, MIDDLE - 8, MIDDLE + 8),
        line(b, b, MIDDLE - 8, MIDDLE + 8)
      );
      const svg = make("svg", { height: 2 * MIDDLE });
      const width = `max(1px, ${share(to) - share(from)}%)`;
      const bar = make("rect", { x: x(from), y: MIDDLE - 10, height: 20, class: "bar" });
      bar.style.width = width;
      svg.append(bar, whisker);
      picture.append(label2, svg);
    }
    const axis = make("svg", { height: 26 });
    axis.append(make("line", { x1: 0, x2: "100%", y1: 1, y2: 1, class: "axis" }));
    for (const at of [rows[0].low, rows[0].high]) {
      const anchor = share(at) < 10 ? "start" : share(at) > 90 ? "end" : "middle";
      axis.append(make("text", { x: x(at), y: 20, "text-anchor": anchor }, String(at)));
    }
    picture.append(axis);
    return picture;
  }

  // src/page/results.js
  var MOST_PLACES = 12;
  function withError(value, error) {
    const places2 = error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 0;
    const write = places2 > MOST_PLACES ? (x) => x.toExponential(1) : (x) => x.toFixed(places2);
    const estimate = places2 > MOST_PLACES ? exponential(value, places2) : value.toFixed(places2);
    if (Number.isSafeInteger(value) && Number.isSafeInteger(error)) return [estimate, write(error)];
    const whole = error + Math.abs(value - Number(estimate));
    return [estimate, up(whole + (whole + Math.abs(value)) * 1e-15, write)];
  }
  function exponential(value, place) {
    const size = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
    return value.toExponential(Math.min(20, Math.max(1, size + place)));
  }
  function up(x, write) {
    let text2 = write(x);
    for (let more = 1e-12; Number(text2) < x; more *= 2) text2 = write(x * (1 + more));
    return text2;
  }
  function numberOf(words) {
    const [above, under] = fraction(words);
    return Number(above) / Number(under);
  }
  function rowsOf(task, result) {
    if (result.counts) {
      const names = task.domain.length ? task.domain : [...Array(task.size).keys()].map(String);
      return names.map((label2) => ({
        label: label2,
        // A choice may be named as what every object has.
        value: Object.hasOwn(result.counts, label2) ? result.counts[label2] : 0,
        error: result.error_of_all_counts,
        low: 0,
        high: result.users
      }));
    }
    if (result.mean !== void 0) {
      const [low, high] = task.bounds.map(numberOf);
      return [{ label: "mean", value: result.mean, error: result.error_of_mean, low, high }];
    }
    const share = { error: result.error_of_sum, low: 0, high: result.users };
    return [
      { label: "yes", value: result.sum, ...share },
      { label: "no", value: result.users - result.sum, ...share }
    ];
  }
  var NOBODY = {
    histogram: "shows 0",
    low_communication_histogram: "may show a number above 0",
    paired_histogram: "may show another number than 0, also one below it"
  };
  function captionOf(task, result) {
    const sure = Math.round(100 * (1 - Number(result.error_fails_with_probability)));
    const caption = `${result.users} people answered. The bars show the estimate; the true number lies inside the whiskers with ${sure}% confidence`;
    if (result.counts) {
      return `${caption}, for all choices together. A choice that nobody made ${NOBODY[task.protocol]}.`;
    }
    return `${caption}. An estimate may lie below 0 or above everybody: it is not corrected, so that it is right on average.`;
  }
  var termsOf = (task) => `In the guarantee, "shuffler" is the first service and "analyser" the second, whose public side is the issuer: a "pass" is what the first one gave you, an "invitation" (or "account") what the second one's side gave you. A "user" is whoever may answer once (here: ${task.unit}), and a "row" what one user sent; "epsilon" measures how much the result can tell about it: chances change by at most a factor e^epsilon, where e is about 2.718.`;
  function guaranteeOf(result) {
    const found = result.epsilon_of_this_batch;
    const exact2 = found === null ? "" : ` For this batch, epsilon was ${thousandths(found)}.`;
    return result.sentence + exact2;
  }
  var thousandths = (x) => (Math.ceil(x * 1e3) / 1e3).toString();

  // src/page/words.js
  var places = (number2) => `${number2.toPrecision(3).replace(/\.0*$|(\.[0-9]*[1-9])0+$/, "$1")}%`;
  var percentAtMost = (ratio2) => {
    const exact2 = 100 * approximate(ratio2), above = Number(exact2.toPrecision(3)) > exact2;
    return places(above ? exact2 - 10 ** (Math.floor(Math.log10(exact2)) - 2) : exact2);
  };
  var percentAtLeast = ([a, b]) => `${Number((10000n * a + b - 1n) / b) / 100}%`;
  var up2 = (x) => (Math.ceil(x * 100) / 100).toString();
  function privacyWords(task) {
    const factor = up2(Math.exp(approximate(fraction(task.epsilon))));
    const honest = percentAtLeast(fraction(task.honest_share));
    return [
      ["What happens on your device", randomising(task)],
      [
        "What the first service learns",
        `Who holds your link, your network address, what your browser says of itself to every site, and when you answer. Not your answer: it receives locked messages that it cannot open, equally many and equally long whatever you answer. It mixes them with those of everybody else, and waits until at least ${task.min_batch} people have answered; with fewer, all answers are destroyed.`
      ],
      [
        "What the second service learns",
        "The mixed, randomised messages of everybody together. Not who sent which, nor when." + (task.issuer ? ASKED : "")
      ],
      [
        "What the published result tells about you",
        `Any conclusion that somebody draws from it would be at most ${factor} times as likely with one answer of yours as with another, but for a probability of at most ${task.delta}. This holds if at least ${honest} of the participants follow the rules, ${isFlipped(task) ? "" : "the first service hands on whole reports, "}${task.issuer ? "" : "it invents no participants, "}and the two services do not work together.`
      ],
      ["If the two services work together", together(task)],
      ["Who could invent participants", inventing(task)],
      ["What your browser keeps", keeping(task)],
      [
        "What you must trust",
        "Your device and its browser; and that the first service sent you this page unchanged, with terms that were agreed on: the page checks who signed the keys and the result, but does not compute that the noise keeps the promise. If you do not, use the command-line client instead: it sends exactly the same, computes that, and keeps its files better than a browser does."
      ]
    ];
  }
  function keeping(task) {
    const forgotten = task.issuer ? "the issuer then refuses another answer in the same time, but this page no longer knows in how many times you answered" : "then another answer could be randomised and sent";
    return `Your locked messages, before they are sent, and after that time marks of them: never your answer. What a browser has erased may stay on its disk for a while. A private window that is closed, and storage that is cleared, forget all of it: ${forgotten}.`;
  }
  var ASKED = " But its public side, the issuer, learns who holds your invitation, your network address, what your browser says of itself to every site, and when you ask it for the tokens that make your messages count; it does not see these messages.";
  var isFlipped = ({ protocol }) => protocol === "boolean_sum" || protocol === "real_sum";
  function inventing(task) {
    const then = isFlipped(task) ? "With all others invented, only the dice of your own device would protect you." : "With all others invented, hardly anything would protect you.";
    if (!task.issuer) {
      return `The first service alone could: nobody checks that it does not. ${then}`;
    }
    return `Every answer needs a pass of the first service and an invitation of the second one's side, so that neither can invent many people alone. Whoever made or saw both for many people could: that is why they come to you by two different ways. ${then}`;
  }
  function randomising(task) {
    if (task.protocol === "boolean_sum") {
      return `With probability ${percentAtMost([BigInt(task.noise), 1n << 64n])} your answer is turned into the opposite before it is locked and sent. The dice are thrown once, here; your true answer is not kept and does not leave this page.`;
    }
    if (task.protocol === "real_sum") {
      return `Your number is turned into ${task.size} ones and zeros, and each of them is turned over with probability ${percentAtMost([BigInt(task.noise), 1n << 64n])} before it is locked and sent. The dice are thrown once, here; your number is not kept and does not leave this page.`;
    }
    if (task.protocol === "histogram" || task.protocol === "low_communication_histogram") {
      const noise = fraction(task.noise);
      const added = task.protocol === "histogram" ? percentAtLeast(subtract([1n, 1n], noise)) : percentAtMost(noise);
      return `Your choice is sent together with made-up choices: each choice is added with probability ${added}, and empty messages fill the rest. The dice are thrown once, here.`;
    }
    if (task.protocol === "split_sum") {
      return `Your number, with a little noise, is split into ${task.slots} parts that are each as good as random; only the sum of everybody's parts means something. Your number is not kept and does not leave this page.`;
    }
    return "Your answer is sent together with made-up answers of both signs, mostly in pairs that cancel each other, and empty messages fill the rest. The dice are thrown once, here.";
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

  // src/page/page.js
  var SECONDS_BETWEEN_LOOKS = 3;
  var SECONDS_BETWEEN_TIDYINGS = 60;
  var $ = (id) => document.getElementById(id);
  function tell(words, kind = "note") {
    $("status").textContent = words;
    $("status").className = kind;
  }
  async function start() {
    addEventListener("hashchange", () => location.reload());
    tell("Loading …");
    try {
      const problem = await obstacle();
      if (problem) return tell(problem, "problem");
      await prepare2();
    } catch (error) {
      tell(error.message, "problem");
    }
  }
  async function obstacle(scope = globalThis) {
    if (!scope.crypto?.subtle || !scope.crypto.getRandomValues) {
      return "This browser cannot encrypt here: it has no WebCrypto, or the page did not come over https. Nothing was sent. Use an up-to-date browser and an https address.";
    }
    if (!await canCheck()) {
      return "This browser cannot check who made the keys of this poll: it has no Ed25519 signatures. Nothing was sent. Use a newer browser.";
    }
    return storage(scope) ? "" : `Nothing was sent. ${NO_STORAGE}`;
  }
  function storage(scope) {
    try {
      return scope.indexedDB;
    } catch {
      return null;
    }
  }
  async function prepare2() {
    const taskId = location.pathname.split("/")[2] ?? "";
    const answer = await ask(`/v2/tasks/${taskId}`, {}, { most: MOST_ANSWER });
    if (answer.status >= 500) throw new Lost();
    if (!answer.ok) throw new Error("There is no poll at this address.");
    const task = await readTask(answer.body, taskId);
    const about = documentOf(await ask(`/poll/${taskId}/about`));
    if (typeof about?.question !== "string") throw new Error(NO_DOCUMENT);
    $("question").textContent = about.question;
    document.title = about.question;
    $("one-host").hidden = !about.one_host;
    $("legend").textContent = "Your answer";
    for (const [title, words] of privacyWords(task)) {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      dt.textContent = title;
      dd.textContent = words;
      $("known").append(dt, dd);
    }
    showChoices(task);
    $("pass").value = location.hash.slice(1);
    $("pass-row").hidden = isSecret($("pass").value);
    $("invitation-row").hidden = !isSignedTask(task);
    $("invitation").required = isSignedTask(task);
    const poll = { task, taskId, said: /* @__PURE__ */ new Map(), window: windowNow(task) };
    const own2 = isSignedTask(task) ? $("invitation") : $("pass");
    own2.addEventListener("change", () => sayWhatIsKept(poll).catch(() => {
    }));
    $("form").addEventListener("submit", (event) => {
      event.preventDefault();
      send(poll);
    });
    await tidy(poll);
    await sayWhatIsKept(poll);
    await update(poll);
    $("poll").hidden = false;
    setTimeout(look, 1e3 * SECONDS_BETWEEN_LOOKS, poll);
  }
  async function tidy(poll) {
    const seconds = Date.now() / 1e3;
    const live = firstLive(poll.task, seconds);
    if (poll.live === live && Math.abs(seconds - poll.tidied) < SECONDS_BETWEEN_TIDYINGS) return;
    await settle({ ...poll, seconds });
    Object.assign(poll, { live, tidied: seconds });
  }
  var secrets = () => ({ pass: $("pass").value.trim(), invitation: $("invitation").value.trim() });
  async function askWhoAnswers(task, place) {
    const waiting = !isSignedTask(task) && await isWaiting(place);
    $("another-row").hidden = !waiting;
    if (!waiting) $("another").checked = false;
    return waiting;
  }
  async function sayWhatIsKept({ task, taskId }) {
    const place = await placeOf({ task, taskId, window: windowNow(task), ...secrets() });
    const kept = await find(place);
    const waiting = await askWhoAnswers(task, place);
    const same2 = "An answer was randomised here for this link already; sending again sends the same report.";
    const sent = "An answer was randomised here for this link already, and has arrived.";
    const said = { ...OVER, [DRAWN]: same2, [FINAL]: same2, [SENT]: sent, ended: REFUSED };
    const nothing = isSignedTask(task) && !secrets().invitation ? "Nothing is sent before you press the button." : "Nothing has been sent yet.";
    const borrowed = kept?.adopted && kept.state === FINAL;
    tell(waiting || borrowed ? WAITING : kept ? said[kept.state] : nothing);
    return kept;
  }
  function showChoices(task) {
    const choices = $("choices");
    if (isNumber(task)) {
      const [low, high] = task.bounds;
      const [label2, input] = ["label", "input"].map((name) => document.createElement(name));
      Object.assign(input, { id: "number", inputMode: "decimal", required: true, autocomplete: "off" });
      input.spellcheck = false;
      label2.htmlFor = input.id;
      label2.textContent = `A number from ${low} to ${high}; one outside counts as the nearest end. `;
      choices.append(label2, input);
      return;
    }
    const names = isBinned(task) ? (task.domain.length ? task.domain : [...Array(task.size).keys()]).map((n, i) => [i, n]) : [["1", "Yes"], ["0", "No"]];
    for (const [value, name] of names) {
      const label2 = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "radio", name: "choice", value, required: true, autocomplete: "off" });
      label2.className = "choice";
      label2.append(input, ` ${name}`);
      choices.append(label2);
    }
  }
  function datumOf(task) {
    if (isNumber(task)) return pointed($("number").value);
    const place = Number(document.querySelector("input[name=choice]:checked").value);
    return isBinned(task) && task.domain.length ? task.domain[place] : place;
  }
  var pointed = (typed) => /^[^,]*[1-9][^,.]*,[0-9]{3}$/.test(typed.trim()) ? typed : typed.replace(",", ".");
  async function send(poll) {
    const problem = problemOf(poll.task, secrets());
    if (problem) return tell(problem, "problem");
    $("send").disabled = true;
    await update(poll);
    if ($("form").hidden) return;
    tell("Randomising and locking your answer, then sending it …");
    navigator.storage?.persist?.().catch(() => {
    });
    try {
      const window = windowNow(poll.task);
      const who = { ...poll, ...secrets(), window };
      const anotherPerson = $("another").checked;
      const place = await placeOf(who);
      const kept = await find(place);
      const again = kept ? kept.adopted : !isSignedTask(poll.task) && !anotherPerson && await isWaiting(place);
      const before = await submit({ ...who, datum: datumOf(poll.task), anotherPerson });
      const whose = again ? "The answer that was randomised here before, with another link," : "Your randomised answer";
      const arrived = before ? "The answer that was randomised here before has arrived already: no other is sent." : `${whose} has arrived.`;
      tell(`${arrived} The result appears here when it is published.`, "done");
      $("form").hidden = true;
      $("form").reset();
    } catch (error) {
      tell(error.message, "problem");
      $("send").disabled = false;
      const place = await placeOf({ ...poll, ...secrets(), window: windowNow(poll.task) });
      await askWhoAnswers(poll.task, place).catch(() => {
      });
    }
  }
  async function look(poll) {
    await tidy(poll).catch(() => {
    });
    await update(poll);
    await renew(poll).catch(() => {
    });
    setTimeout(look, 1e3 * SECONDS_BETWEEN_LOOKS, poll);
  }
  async function renew(poll) {
    const window = windowNow(poll.task);
    if (poll.window === window || $("form").hidden || $("send").disabled) return;
    poll.window = window;
    if (!await sayWhatIsKept(poll)) {
      tell("Another time of this poll has begun: what you send now is a new answer, for that time.");
    }
  }
  async function update(poll) {
    try {
      const answer = await ask(`/poll/${poll.taskId}/results`, {}, { most: MOST_RESULTS });
      const published = answer.ok ? documentOf(answer) : [];
      if (!published.length) return;
      const signed = await Promise.all(published.map((one) => readResult(poll, one)));
      const results = signed.filter(({ state }) => state === void 0);
      if (!results.length) return;
      const result = results.at(-1);
      if (isClosed(poll.task, results)) {
        close("This poll is closed; this is its result.");
      } else if (result.window >= windowNow(poll.task)) {
        const next = dayOf(poll.task, result.window + 1);
        close(`This is the result so far. The poll goes on at ${next}: load this page again then.`);
      }
      show(poll, result);
      await sayStandings(poll, results);
    } catch {
    }
  }
  function close(words) {
    $("form").hidden = true;
    if ($("status").textContent !== words) tell(words, "done");
  }
  function show(poll, result) {
    if (poll.shown === result.window) return;
    poll.shown = result.window;
    const { task } = poll;
    const rows = rowsOf(task, result);
    const body = $("table").tBodies[0];
    body.replaceChildren(
      ...rows.map((row) => {
        const line = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = row.label;
        const number2 = document.createElement("td");
        number2.textContent = withError(row.value, row.error).join(" ± ");
        line.append(head, number2);
        return line;
      })
    );
    $("caption").textContent = captionOf(task, result);
    $("chart").replaceChildren(chart(rows));
    $("terms").textContent = termsOf(task);
    $("guarantee").textContent = guaranteeOf(result);
    $("warning").textContent = result.warning ?? "";
    $("result").hidden = false;
    $("when").textContent = dayOf(task, result.window);
  }
  async function sayStandings(poll, results) {
    const last = results.at(-1).window;
    const sentences = [];
    for (const result of results) {
      if (!poll.said.has(result.window)) {
        const words2 = await standingOf(poll, result);
        if (words2 !== NO_MARKS) poll.said.set(result.window, words2);
        else if (result.window === last) sentences.push(words2);
      }
      const words = poll.said.get(result.window);
      const time = result.window === last ? "" : `Of ${dayOf(poll.task, result.window)}: `;
      if (words) sentences.push(time + words);
    }
    $("standing").textContent = sentences.join(" ");
  }
  async function standingOf(poll, result) {
    const { task, taskId } = poll;
    try {
      const kept = await inWindow({ taskId, window: result.window });
      const rows = kept.filter(({ report, marks }) => report || marks);
      if (!rows.length) return "";
      const most = await marksSize(poll, result);
      const path = `/v2/tasks/${taskId}/marks/${result.window}`;
      let why;
      const answer = await ask(path, {}, { most }).catch((error) => {
        if (!(error instanceof Lost)) why = error;
      });
      const file = answer?.ok ? answer.body : null;
      const said = [];
      for (const row of rows) said.push(await lookUp({ task }, row, result, file, why));
      return [...new Set(said)].join(" ");
    } catch (error) {
      return error.message;
    }
  }
  var windowNow = (task) => windowAt(task, Date.now() / 1e3);
  var dayOf = (task, window) => new Date(1e3 * window * task.window_seconds).toISOString().slice(0, 16).replace("T", " ") + " UTC";

  // src/poll.js
  globalThis.smoothdp = {
    ...answers_exports,
    ...bytes_exports,
    ...fractions_exports,
    ...random_exports,
    ...client_exports,
    ...inclusion_exports,
    ...noise_exports,
    ...submit_exports,
    ...blind_exports,
    ...card_exports,
    ...hybrid_exports,
    ...marks_exports,
    ...report_exports,
    ...signing_exports,
    ...task_exports,
    ...tokens_exports,
    randomize,
    obstacle,
    outcomes: outcomes_exports,
    privacyWords,
    problemOf,
    rowsOf
  };
  if (globalThis.document?.getElementById("poll")) start();
})();
/*! Bundled license information:

@hpke/common/esm/src/curve/modular.js:
@hpke/common/esm/src/curve/montgomery.js:
@hpke/dhkem-x25519/esm/src/primitives/x25519.js:
  (*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) *)
*/
