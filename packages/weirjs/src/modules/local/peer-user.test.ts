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
  ['that the table does not know, because it is over', row(`${ADDRESS}:0050`, `${ADDRESS}:2222`, 1000), true],
  ['in an empty table', '', false],
]
for (const [what, table, isAnother] of TABLES)
  test(`a program at the other end ${what} is ${isAnother ? 'refused' : 'accepted'}`, () => {
    assert.equal(
      isOfAnotherUser(PEER, 1000, false, () => `  sl  local_address rem_address   st\n${table}`),
      isAnother,
    )
  })

test('IPv6 is in a table of its own', () => {
  const table = row(`${ADDRESS6}:0050`, `${ADDRESS6}:1F90`, 1000) + row(`${ADDRESS6}:1F90`, `${ADDRESS6}:0050`, 1001)
  assert.equal(
    isOfAnotherUser({ address: '::1', port: 0x1f90 }, 1000, false, (name) => (name === 'tcp6' ? table : '')),
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
        isOfAnotherUser({ address, port: 0x1f90 }, 1000, false, (name) => (name === 'tcp' ? tcp : tcp6)),
        isAnother,
      )
})

test('a machine without IPv6 has no table of it', () => {
  const read = (name: string): string => {
    if (name === 'tcp6') throw new Error('ENOENT')
    return client(1001) + server
  }
  assert.equal(isOfAnotherUser(PEER, 1000, false, read), true)
})

test('where nobody says whose a program is, all are accepted', () => {
  const fail = (): never => {
    throw new Error('ENOENT')
  }
  assert.equal(isOfAnotherUser(PEER, 1000, false, fail), false)
  assert.equal(
    isOfAnotherUser(PEER, undefined, false, () => client(1001) + server),
    false,
  )
  assert.equal(
    isOfAnotherUser({ address: '127.0.0.1', port: 0 }, 1000, false, () => client(1001) + server),
    false,
    'what the program has sent to itself',
  )
})

/** As the tables have an address of IPv4. */
const hexOf = (address: string): string => {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).toUpperCase().padStart(2, '0'))
  return (endianness() === 'LE' ? bytes.toReversed() : bytes).join('')
}
const swapped = (word: string): string => (endianness() === 'LE' ? word.match(/../g)!.toReversed().join('') : word)

test('a program connects to this machine from any of its addresses', () => {
  const ends: readonly (readonly [address: string, table: string, to: string])[] = [
    ['127.0.0.9', hexOf('127.0.0.9'), ADDRESS],
    ['192.168.1.5', hexOf('192.168.1.5'), ADDRESS],
    ['::ffff:10.0.0.7', hexOf('10.0.0.7'), ADDRESS],
    ['2001:db8::12', ['20010DB8', '00000000', '00000000', '00000012'].map(swapped).join(''), ADDRESS6],
    ['fe80::a:b%eth0', ['FE800000', '00000000', '00000000', '000A000B'].map(swapped).join(''), ADDRESS6],
  ]
  for (const [address, hex, to] of ends) {
    const rows = (uid: number): string => row(`${to}:0050`, `${hex}:1F90`, 1000) + row(`${hex}:1F90`, `${to}:0050`, uid)
    for (const isExposed of [false, true])
      for (const [uid, isAnother] of [
        [1001, true],
        [1000, false],
        [0, false],
      ] as const)
        assert.equal(
          isOfAnotherUser({ address, port: 0x1f90 }, 1000, isExposed, (name) => ((name === 'tcp6') === (to === ADDRESS6) ? rows(uid) : '')),
          isAnother,
          `${address} ${uid}`,
        )
  }
})

test('of another machine, nobody says whose its programs are', () => {
  const peer = { address: '192.168.1.5', port: 0x1f90 }
  const table = row(`${hexOf('192.168.1.2')}:0050`, `${hexOf('192.168.1.5')}:1F90`, 1000)
  assert.equal(
    isOfAnotherUser(peer, 1000, true, () => table),
    false,
  )
  assert.equal(
    isOfAnotherUser(peer, 1000, false, () => table),
    true,
    'it is no other machine where none can connect',
  )
})
