// The channel of a relay for one key of a name.

/**
 * No two kinds, names and keys make the same channel: the key, which a client may have chosen, has no space then. Half of a surrogate pair, which
 * UTF-8 lacks, makes a difference too. A program that names a channel itself begins it with another word.
 */
export function keyedChannel(kind: string, name: string, key: string): string {
  return `${kind} ${name} ${key.replace(/[% ]|\p{Surrogate}/gu, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`)}`
}
