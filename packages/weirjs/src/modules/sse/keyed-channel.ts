// The channel of a relay for one key of a name.

/**
 * Different kinds, names and keys never make the same channel: the encoded key, which a client may have chosen, has no space. Keys that differ only
 * in half a surrogate pair, which UTF-8 lacks, stay different. The channels that a program names itself begin with another word.
 */
export function keyedChannel(kind: string, name: string, key: string): string {
  return `${kind} ${name} ${key.replace(/[% ]|\p{Surrogate}/gu, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`)}`
}
