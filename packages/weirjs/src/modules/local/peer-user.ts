// Finds out which user's program is at the other end of a connection on this machine. Only Linux tells this.
//
// Browsers send a cookie to every port of a host. If the person's browser opens a page of another user's server, that user gets the cookie, and
// could send it from a program of theirs.

import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import { endianness } from 'node:os'

import { isLoopback } from '../../base/this-machine.ts'

/** The state of a connection that both sides have open. One that its program has closed no longer has a user. */
const ESTABLISHED = '01'

/** The columns of a row of the table, by which the two ends of a connection find each other. */
interface Row {
  readonly own: string
  readonly other: string
  readonly state: string
  readonly uid: number
}

/** The other end of a connection, as its socket knows it. */
interface PeerEnd {
  readonly address: string
  /** 0 without a socket. */
  readonly port: number
}

/**
 * Whether the program at the other end is one of another user. False if that is not known, and for requests that the program sends to itself
 * without a socket.
 * @param uid the user of this process
 * @param isExposed whether other machines may connect. If none may, a connection that is in no table is over, and it is not known whose it was
 * @param readTable reads `/proc/net/tcp` or `tcp6`
 */
export function isOfAnotherUser(
  peer: PeerEnd,
  uid: number | undefined,
  isExposed: boolean,
  readTable: (name: 'tcp' | 'tcp6') => string = tableOf,
): boolean {
  if (uid === undefined || peer.port === 0) return false
  const end = endOf(peer)
  if (end === null) return false
  // Each end is in the table of its own socket: an IPv6 socket that also accepts IPv4 is in the IPv6 table.
  const tables = end.length > LONGEST_END4 ? (['tcp6'] as const) : (['tcp', 'tcp6'] as const)
  const rows = tables.flatMap((name) => rowsOf(readTable, name))
  if (rows.length === 0) return false
  const ours = rows.filter(({ other }) => other === end)
  const theirs = rows.find(({ own, other, state }) => own === end && state === ESTABLISHED && ours.some((one) => one.own === other))
  if (theirs === undefined) return !isExposed || isLoopback(peer.address)
  return theirs.uid !== uid && theirs.uid !== 0
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

/**
 * As the tables write it: each four bytes of the address are a number of this machine. Null for what is not an address. A program may connect to a
 * loopback address from any address of its machine.
 */
function endOf({ address, port }: PeerEnd): string | null {
  const own = isIPv4(address) ? `::ffff:${address}` : address.replace(/%.*$/s, '') // without its zone
  if (!isIPv6(own)) return null
  const bytes = groupsOf(own).flatMap((group) => [group >> 8, group & 255])
  const words = [0, 4, 8, 12].map((at) => hex(bytes.slice(at, at + 4)))
  return withoutMapping(`${words.join('')}:${port.toString(16).toUpperCase().padStart(4, '0')}`)
}

/** The eight groups of an address of IPv6. The URL parser normalizes it. */
function groupsOf(address: string): number[] {
  const halves = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function hex(bytes: readonly number[]): string {
  const ordered = endianness() === 'LE' ? bytes.toReversed() : bytes
  return ordered.map((one) => one.toString(16).toUpperCase().padStart(2, '0')).join('')
}
