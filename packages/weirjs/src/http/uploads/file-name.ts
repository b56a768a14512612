// Makes file names from a client safe for a file system.

import { Buffer } from 'node:buffer'

/** Characters that Windows, macOS or Linux refuse or treat specially, with controls, bidirectional overrides and lone surrogates. */
const REFUSED = /[\u0000-\u001f\u007f-\u009f<>:"|?*\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Cs}]/gu
/** Device names: Windows opens the device instead of a file, whatever the extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\.|$)/i
const EDGE = /[\s.]/
/** The smallest limit of common file systems, in bytes, with some room for a suffix. */
const MAX_BYTES = 255 - 32
/** More than fit into MAX_BYTES even when they are normalized, which takes quadratic time for some texts. */
const MAX_BEGINNING = 448
/** More than the extension that is kept. */
const MAX_END = 64

/**
 * Returns the last segment of a client's file name, with characters that file systems refuse replaced by `_`. The result has no separators,
 * no control characters, no leading or trailing dots and blanks, is not a device name, and has at most 223 bytes of UTF-8, with the
 * extension kept. When nothing is left, it is `fallback`, by default `upload.bin`. The name does not tell what is in the file.
 * @example
 * safeFileName('../../etc/passwd') // passwd
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export function safeFileName(fileName: string | null | undefined, fallback = 'upload.bin'): string {
  const whole = fileName ?? ''
  const segment = whole.slice(Math.max(whole.lastIndexOf('/'), whole.lastIndexOf('\\')) + 1)
  const plain = trimEdges(withoutMiddle(segment).normalize('NFC').replace(REFUSED, '_'))
  if (plain === '' || /^_+$/.test(plain)) return fallback
  const short = shorten(plain)
  return DEVICE.test(short) ? shorten(`_${short}`) : short
}

/** Inserts `-suffix` before the extension: `report.pdf` becomes `report-suffix.pdf`. */
export function withSuffix(name: string, suffix: string): string {
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? `${name}-${suffix}` : `${name.slice(0, dot)}-${suffix}${name.slice(dot)}`
}

/** Leaves out what `shorten` would. */
function withoutMiddle(segment: string): string {
  if (segment.length <= MAX_BEGINNING + MAX_END) return segment
  const name = trimEdges(segment)
  return name.length <= MAX_BEGINNING + MAX_END ? name : name.slice(0, MAX_BEGINNING) + name.slice(-MAX_END)
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  const stem = Buffer.from(name.slice(0, name.length - extension.length))
  let end = MAX_BYTES - Buffer.byteLength(extension)
  while ((stem[end]! & 0xc0) === 0x80) end-- // not in the middle of a character
  return trimEdges(stem.toString('utf8', 0, end)) + extension
}

/** Removes dots and blanks at both ends. A regular expression would take quadratic time. */
function trimEdges(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && EDGE.test(text[start]!)) start++
  while (start < end && EDGE.test(text[end - 1]!)) end--
  return text.slice(start, end)
}
