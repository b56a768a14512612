// Bounds caches that forget their oldest entries.

/** Removes the entries that were added first, until at most `most` are left. */
export function keepNewest<K>(entries: Map<K, unknown> | Set<K>, most: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= most) return
    entries.delete(key)
  }
}
