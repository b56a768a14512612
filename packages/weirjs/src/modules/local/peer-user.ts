// Whose program is at the other end of a connection on this machine, where the system says so: on Linux.
//
// Browsers send a cookie to every port of a host. If the person's browser opens a page of another user's server, that user gets the cookie, and could
// send it from a program of theirs.

import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'

/** The state of a connection that both sides have open. One that its program has closed no longer has a user. */
const ESTABLISHED = '01'

/** The columns of a row of the table, by which the two ends of a connection find each other. */
interface Row {
  readonly own: string
  readonly other: string
  readonly state: string
  readonly uid: number
}

/**
 * Whether the program at the other end is one of another user. False where nobody says so.
 * @param uid that of this process
 * @param readTable reads `/proc/net/tcp` or `tcp6`
 */
export function isOfAnotherUser(
  peer: { readonly address: string; readonly port: number },
  uid: number | undefined,
  readTable: (name: 'tcp' | 'tcp6') => string = tableOf,
): boolean {
  if (uid === undefined) return false
  const end = endOf(peer)
  if (end === null) return false
  // Each end is in the table of its own socket: one of IPv6 that also speaks IPv4 is in the other one.
  const tables = end.length > LONGEST_END4 ? (['tcp6'] as const) : (['tcp', 'tcp6'] as const)
  const rows = tables.flatMap((name) => rowsOf(readTable, name))
  // A table that has our end of the connection has the other one too, unless that is gone.
  const ours = rows.filter(({ other }) => other === end)
  if (ours.length === 0) return false
  const theirs = rows.find(({ own, other, state }) => own === end && state === ESTABLISHED && ours.some((one) => one.own === other))
  return theirs === undefined || (theirs.uid !== uid && theirs.uid !== 0)
}

/** Four bytes of an address and a port. */
const LONGEST_END4 = 13
const MAPPED = `${'0'.repeat(16)}${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}`
const ROW = /^ *\d+: ([\dA-F]+:[\dA-F]{4}) ([\dA-F]+:[\dA-F]{4}) ([\dA-F]{2}) \S+ \S+ \S+ +(\d+)/gm

/** None where the system has no such table: all of Linux, or IPv6, may be missing. */
function rowsOf(readTable: (name: 'tcp' | 'tcp6') => string, name: 'tcp' | 'tcp6'): Row[] {
  try {
    return [...readTable(name).matchAll(ROW)].map(rowOf)
  } catch {
    return []
  }
}

function rowOf([, own = '', other = '', state = '', uid = '']: RegExpExecArray): Row {
  return { own: withoutMapping(own), other: withoutMapping(other), state, uid: Number(uid) }
}

/** `::ffff:127.0.0.1` is 127.0.0.1. */
function withoutMapping(end: string): string {
  return end.startsWith(MAPPED) ? end.slice(MAPPED.length) : end
}

function tableOf(name: 'tcp' | 'tcp6'): string {
  return process.platform === 'linux' ? readFileSync(`/proc/net/${name}`, 'latin1') : ''
}

/** As the table writes it: each four bytes of the address are a number of this machine. Null for what is not a loopback address. */
function endOf({ address, port }: { readonly address: string; readonly port: number }): string | null {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  if (address === '::1') return `${'0'.repeat(24)}${hex([0, 0, 0, 1])}:${hexPort}`
  const parts = /^(?:::ffff:)?(127\.\d+\.\d+\.\d+)$/.exec(address)?.[1]?.split('.').map(Number)
  return parts === undefined ? null : `${hex(parts)}:${hexPort}`
}

function hex(bytes: readonly number[]): string {
  const ordered = endianness() === 'LE' ? bytes.toReversed() : bytes
  return ordered.map((one) => one.toString(16).toUpperCase().padStart(2, '0')).join('')
}
