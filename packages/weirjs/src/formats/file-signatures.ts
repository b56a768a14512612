// Recognizes the media type of a file by its first bytes. Only formats that begin with characteristic bytes can be recognized: CSV, HTML and SVG
// look like any other text.

import { isInRange } from './media-type.ts'

/** How many of the first bytes are looked at. */
export const SIGNATURE_BYTES = 64

const isAt = (first: Uint8Array, text: string, at = 0): boolean => {
  for (let i = 0; i < text.length; i++) if (first[at + i] !== text.charCodeAt(i)) return false
  return true
}

type Is = (first: Uint8Array) => boolean

const begins =
  (...texts: readonly string[]): Is =>
  (first) =>
    texts.some((text) => isAt(first, text))
/** A RIFF file of this kind. */
const riff =
  (kind: string): Is =>
  (first) =>
    isAt(first, 'RIFF') && isAt(first, kind, 8)
/** An ISO base media file with one of these brands. */
const brand =
  (...brands: readonly string[]): Is =>
  (first) =>
    first[0] === 0 && isAt(first, 'ftyp', 4) && brands.some((one) => isAt(first, one, 8))
const isMpegAudio: Is = ([a = 0, b = 0, c = 0]) =>
  a === 0xff && (b & 0xe6) === 0xe2 && (b & 0x18) !== 0x08 && c >> 4 !== 0x0f && (c & 0x0c) !== 0x0c

/** Where two or three bytes may also begin a text, more are required. The first signature that fits counts. */
const SIGNATURES: readonly (readonly [types: readonly string[], is: Is])[] = [
  [['image/png'], begins('\x89PNG\r\n\x1a\n')],
  [['image/jpeg'], begins('\xff\xd8\xff')],
  [['image/gif'], begins('GIF87a', 'GIF89a')],
  [['image/webp'], riff('WEBP')],
  [['image/avif'], brand('avif', 'avis')],
  [['image/heic', 'image/heif'], brand('heic', 'heix', 'heim', 'heis', 'hevc', 'hevx')],
  [['image/heif', 'image/heic', 'image/avif'], brand('mif1', 'msf1')],
  [['image/jxl'], begins('\xff\x0a', '\0\0\0\x0cJXL \r\n\x87\n')],
  [['image/bmp'], (first) => isAt(first, 'BM') && isAt(first, '\0\0\0\0', 6)],
  [['image/tiff'], begins('II*\0', 'MM\0*')],
  [['image/x-icon', 'image/vnd.microsoft.icon'], (first) => isAt(first, '\0\0\x01\0') && first[4] !== 0],
  [['image/vnd.adobe.photoshop'], begins('8BPS\0')],
  [['application/pdf'], begins('%PDF-')],
  [
    [
      'application/zip',
      'application/x-zip-compressed',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
      'application/vnd.oasis.opendocument.text',
      'application/vnd.oasis.opendocument.spreadsheet',
      'application/vnd.oasis.opendocument.presentation',
      'application/epub+zip',
      'application/java-archive',
      'application/vnd.android.package-archive',
    ],
    begins('PK\x03\x04', 'PK\x05\x06'),
  ],
  [
    ['application/msword', 'application/vnd.ms-excel', 'application/vnd.ms-powerpoint', 'application/vnd.ms-outlook'],
    begins('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'),
  ],
  [['application/rtf', 'text/rtf'], begins('{\\rtf')],
  [['application/gzip', 'application/x-gzip'], begins('\x1f\x8b\x08')],
  [['application/x-7z-compressed'], begins('7z\xbc\xaf\x27\x1c')],
  [['application/vnd.rar', 'application/x-rar-compressed'], begins('Rar!\x1a\x07')],
  [['application/x-bzip2'], (first) => isAt(first, 'BZh') && isAt(first, '1AY&SY', 4)],
  [['application/x-xz'], begins('\xfd7zXZ\0')],
  [['application/zstd'], begins('\x28\xb5\x2f\xfd')],
  [['application/vnd.sqlite3', 'application/x-sqlite3'], begins('SQLite format 3\0')],
  [['application/wasm'], begins('\0asm')],
  [['video/quicktime'], (first) => first[0] === 0 && ['ftypqt  ', 'moov', 'mdat', 'wide'].some((atom) => isAt(first, atom, 4))],
  [['audio/mp4', 'audio/x-m4a'], brand('M4A ', 'M4B ')],
  [['video/mp4', 'audio/mp4', 'audio/x-m4a', 'video/x-m4v', 'video/3gpp', 'video/3gpp2', 'video/quicktime'], brand('')],
  [['video/webm', 'audio/webm', 'video/x-matroska', 'audio/x-matroska'], begins('\x1a\x45\xdf\xa3')],
  [['video/x-msvideo', 'video/avi'], riff('AVI ')],
  [['video/mpeg'], begins('\0\0\x01\xba', '\0\0\x01\xb3')],
  [['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave'], riff('WAVE')],
  [['audio/mpeg', 'audio/mp3'], (first) => (isAt(first, 'ID3') && first[3]! < 5) || isMpegAudio(first)],
  [['audio/aac', 'audio/x-aac'], begins('\xff\xf1', '\xff\xf9')],
  [['audio/flac', 'audio/x-flac'], begins('fLaC\0', 'fLaC\x80')],
  [['audio/ogg', 'video/ogg', 'application/ogg', 'audio/opus'], begins('OggS\0')],
  [['audio/midi', 'audio/x-midi'], begins('MThd\0')],
  [['font/woff'], begins('wOFF\0\x01\0\0', 'wOFFOTTO')],
  [['font/woff2'], begins('wOF2\0\x01\0\0', 'wOF2OTTO')],
  [['font/ttf'], begins('\0\x01\0\0')],
  [['font/otf'], begins('OTTO\0')],
]
const TOLD: ReadonlySet<string> = new Set(SIGNATURES.flatMap(([types]) => types))
/** Ranges whose types have signatures: a file with no such signature is not in them, whatever the client states. */
const TOLD_RANGES: ReadonlySet<string> = new Set(['image', 'audio', 'video', 'font'].map((type) => `${type}/*`))

/** Whether the first bytes show if a file has that type, or a type in that range. */
export function isTold(range: string): boolean {
  return TOLD.has(range) || TOLD_RANGES.has(range)
}

/** The types that a file may have according to its first bytes; null if they show nothing. */
function typesOf(first: Uint8Array): readonly string[] | null {
  return SIGNATURES.find(([, is]) => is(first))?.[0] ?? null
}

/**
 * Whether a file that begins with these bytes has one of the types. For a type that bytes cannot show, the stated type counts, unless the bytes
 * show something else.
 * @param stated the type that the client states, without parameters; null if it states none
 */
export function fitsTypes(first: Uint8Array, types: readonly string[], stated: string | null): boolean {
  const found = typesOf(first)
  if (found !== null && types.some((range) => found.some((type) => isInRange(type, range)))) return true
  if (stated === null || TOLD.has(stated)) return false
  if (types.includes(stated)) return found === null || !stated.startsWith('text/')
  return found === null && types.some((range) => !TOLD_RANGES.has(range) && isInRange(stated, range))
}

/**
 * The type that the first bytes of a file show; null if they show none. Formats may begin alike, such as all that are ZIP files: one of the types
 * then counts if there is any.
 */
export function typeShown(first: Uint8Array, types: readonly string[]): string | null {
  const found = typesOf(first)
  return found?.find((type) => types.some((range) => isInRange(type, range))) ?? found?.[0] ?? null
}

/** The type that the first bytes of a file show, for messages. */
export function whatIs(first: Uint8Array): string {
  return typeShown(first, []) ?? 'something else'
}
