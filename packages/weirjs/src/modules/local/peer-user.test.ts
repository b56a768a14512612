import assert from 'node:assert/strict'
import { endianness } from 'node:os'
import { test } from 'node:test'

import { isOfAnotherUser } from './peer-user.ts'

const ADDRESS = endianness() === 'LE' ? '0100007F' : '7F000001'
const ADDRESS6 = `${'0'.repeat(24)}${endianness() === 'LE' ? '01000000' : '00000001'}`
const PEER = { address: '127.0.0.1', port: 0x1f90 }

/** A row for an end of a connection. */
function row(own: string, other: string, uid: number, state = '01'): string {
  return `   0: ${own} ${other} ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 1060 1 0 100 0 0 10 0\n`
}

const server = row(`${ADDRESS}:0050`, `${ADDRESS}:1F90`, 1000)
const client = (uid: number, state?: string): string => row(`${ADDRESS}:1F90`, `${ADDRESS}:0050`, uid, state)

const TABLES: readonly (readonly [what: string, table: string, isAnother: boolean])[] = [
  ['of this user', client(1000) + server, false],
  ['of root', client(0) + server, false],
  ['of another user', client(1001) + server, true],
  ['that was closed, and has no user', client(0, '05') + server, true],
  ['that is gone', server, true],
  ['of this user, with another connection of another one', row(`${ADDRESS}:1F91`, `${ADDRESS}:0050`, 1001) + client(1000) + server, false],
  [
    'of another user, with a connection of ours from the same port elsewhere',
    row(`${ADDRESS}:1F90`, `${ADDRESS}:0051`, 1000) + client(1001) + server,
    true,
  ],
  ['that the table does not know', row(`${ADDRESS}:0050`, `${ADDRESS}:2222`, 1000), false],
  ['in an empty table', '', false],
]
for (const [what, table, isAnother] of TABLES)
  test(`a program at the other end ${what} is ${isAnother ? 'refused' : 'accepted'}`, () => {
    assert.equal(
      isOfAnotherUser(PEER, 1000, () => `  sl  local_address rem_address   st\n${table}`),
      isAnother,
    )
  })

test('IPv6 is in a table of its own', () => {
  const table = row(`${ADDRESS6}:0050`, `${ADDRESS6}:1F90`, 1000) + row(`${ADDRESS6}:1F90`, `${ADDRESS6}:0050`, 1001)
  assert.equal(
    isOfAnotherUser({ address: '::1', port: 0x1f90 }, 1000, (name) => (name === 'tcp6' ? table : '')),
    true,
  )
})

test('an end whose socket of IPv6 also speaks IPv4 is in the table of that', () => {
  const mapped = `${'0'.repeat(16)}${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}${ADDRESS}`
  const ours = row(`${mapped}:0050`, `${mapped}:1F90`, 1000)
  const theirs = (uid: number): string => row(`${mapped}:1F90`, `${mapped}:0050`, uid)
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1'])
    for (const [tcp, tcp6, isAnother] of [
      [client(1001), ours, true],
      [client(1000), ours, false],
      [server, theirs(1001), true],
      [server, theirs(1000), false],
      ['', ours + theirs(1001), true],
      ['', ours + theirs(1000), false],
    ] as const)
      assert.equal(
        isOfAnotherUser({ address, port: 0x1f90 }, 1000, (name) => (name === 'tcp' ? tcp : tcp6)),
        isAnother,
      )
})

test('a machine without IPv6 has no table of it', () => {
  const read = (name: string): string => {
    if (name === 'tcp6') throw new Error('ENOENT')
    return client(1001) + server
  }
  assert.equal(isOfAnotherUser(PEER, 1000, read), true)
})

test('where nobody says whose a program is, all are accepted', () => {
  const fail = (): never => {
    throw new Error('ENOENT')
  }
  assert.equal(isOfAnotherUser(PEER, 1000, fail), false)
  assert.equal(
    isOfAnotherUser(PEER, undefined, () => client(1001) + server),
    false,
  )
  assert.equal(
    isOfAnotherUser({ address: '192.168.1.5', port: 1 }, 1000, () => client(1001) + server),
    false,
  )
})
