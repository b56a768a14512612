// What a proxy that terminates TLS writes in front of a connection.

/** A PROXY header of version 2, with the common name of a certificate. */
export function tlsHeader(name: string, isVerified: boolean): string {
  const ssl = `${isVerified ? '\x07' : '\x01'}\0\0\0\0\x22\0${String.fromCharCode(name.length)}${name}`
  const more = `\x20\0${String.fromCharCode(ssl.length)}${ssl}`
  return `\r\n\r\n\0\r\nQUIT\n\x21\x11\0${String.fromCharCode(12 + more.length)}\xcb\0\x71\x07\x0a\0\0\x01\x12\x67\x01\xbb${more}`
}
