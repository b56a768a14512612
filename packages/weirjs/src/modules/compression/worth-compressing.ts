// Which media types become smaller when they are compressed.

/** Text, and types that are text by their suffix (RFC 6839). */
const TEXT = /^text\/|\+(?:json|text|xml|yaml)$/

/** The other types that are not compressed already. `application/octet-stream` is any bytes, and the type of bytes without one. */
const OTHERS: ReadonlySet<string> = new Set(
  Object.entries({
    application:
      'ecmascript javascript json octet-stream postscript rtf tar toml vnd.ms-fontobject vnd.ms-opentype wasm x-javascript x-sh x-tar x-www-form-urlencoded xml xml-dtd yaml',
    font: 'otf ttf',
    image: 'bmp vnd.microsoft.icon x-icon x-ms-bmp',
    message: 'rfc822',
    model: 'gltf-binary',
  }).flatMap(([type, subtypes]) => subtypes.split(' ').map((subtype) => `${type}/${subtype}`)),
)

/** A stream of events lasts, and each event should arrive at once. */
const EVENTS = 'text/event-stream'

/** @param contentType with its parameters, in any case */
export function isWorthCompressing(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type !== EVENTS && (TEXT.test(type) || OTHERS.has(type))
}
