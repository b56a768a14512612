import type { Place } from './messages.ts'

/**
 * The name of a socket between the command and the program. Several servers may ask for port 0 of one address: each gets a socket of its
 * own, and the same one after a restart.
 * @param seen how often the program has asked for each place
 */
export function placeKey(place: Place, seen: Map<string, number>): string {
  const text = 'unixSocket' in place ? place.unixSocket : `${place.address} ${place.port}`
  const count = seen.get(text) ?? 0
  seen.set(text, count + 1)
  return `${text} #${count}`
}
