/** Bytes in human-readable form: 940 B, 1.3 kB, 33.6 MB. */
export function sizeOf(bytes) {
  if (bytes < 1e3) return `${bytes} B`
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}
