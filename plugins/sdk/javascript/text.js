// UTF-8 for an engine that has neither TextEncoder nor TextDecoder. Both are made global, for packages that use them.

// Bytes of continuation and the least code point of sequences of 2, 3 and 4 bytes, by their first byte.
const kindOf = (first) =>
  first >= 0xc2 && first < 0xe0 ? [1, 0x80, first & 0x1f]
  : first >= 0xe0 && first < 0xf0 ? [2, 0x800, first & 0x0f]
  : first >= 0xf0 && first < 0xf5 ? [3, 0x10000, first & 0x07]
  : undefined;

/** Text out of bytes. What is no UTF-8 is a TypeError, or a replacement character where `fatal` is false. */
function decode(bytes, fatal) {
  let text = "";
  let units = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++];
    let point = first;
    if (first >= 0x80) {
      const kind = kindOf(first);
      point = -1;
      if (kind !== undefined) {
        const [more, least, bits] = kind;
        let value = bits;
        let read = 0;
        while (read < more && (bytes[at + read] & 0xc0) === 0x80) value = (value << 6) | (bytes[at + read++] & 0x3f);
        if (read === more && value >= least && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff)) {
          point = value;
          at += more;
        }
      }
      if (point < 0) {
        if (fatal) throw new TypeError(`byte ${at - 1} starts no character`);
        point = 0xfffd;
      }
    }
    if (point > 0xffff) units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff));
    else units.push(point);
    // As many as one call can take.
    if (units.length > 8000) {
      text += String.fromCharCode(...units);
      units = [];
    }
  }
  return text + String.fromCharCode(...units);
}

/** Bytes of a text. A surrogate without its other half becomes a replacement character. */
function encode(text) {
  const bytes = new Uint8Array(text.length * 3);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let point = text.charCodeAt(i);
    if (point < 0x80) {
      bytes[at++] = point;
      continue;
    }
    if (point >= 0xd800 && point <= 0xdfff) {
      const next = text.charCodeAt(i + 1);
      const isPair = point < 0xdc00 && next >= 0xdc00 && next <= 0xdfff;
      point = isPair ? 0x10000 + ((point - 0xd800) << 10) + (next - 0xdc00) : 0xfffd;
      if (isPair) i++;
    }
    if (point < 0x800) bytes[at++] = 0xc0 | (point >> 6);
    else {
      if (point < 0x10000) bytes[at++] = 0xe0 | (point >> 12);
      else {
        bytes[at++] = 0xf0 | (point >> 18);
        bytes[at++] = 0x80 | ((point >> 12) & 0x3f);
      }
      bytes[at++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[at++] = 0x80 | (point & 0x3f);
  }
  return bytes.slice(0, at);
}

globalThis.TextDecoder ??= class TextDecoder {
  constructor(label = "utf-8", { fatal = false } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`the only encoding here is utf-8, not ${label}`);
    this.encoding = "utf-8";
    this.fatal = fatal;
  }

  decode(input = new Uint8Array(0)) {
    const bytes = ArrayBuffer.isView(input)
      ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
      : new Uint8Array(input);
    return decode(bytes, this.fatal);
  }
};

globalThis.TextEncoder ??= class TextEncoder {
  encoding = "utf-8";

  encode(text = "") {
    return encode(String(text));
  }
};
