// Which addresses are trusted, compared with Node's BlockList, which decided about IPv4 addresses before.

import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'

import { TrustedNetworks } from '../../packages/weirjs/src/net/proxies/trusted-networks.ts'

const address = (bits: number): string => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
const start = (bits: number, prefix: number): number => (bits & (-1 << (32 - prefix))) >>> 0

/** Addresses at the edges of networks, and any others. */
const arbitrary = fc.record({
  networks: fc.array(fc.record({ bits: fc.integer({ min: 0, max: 0xffffffff }), prefix: fc.integer({ min: 1, max: 32 }) }), {
    minLength: 1,
    maxLength: 32,
  }),
  asked: fc.array(
    fc.tuple(fc.nat(31), fc.constantFrom('first', 'last', 'before', 'after', 'any'), fc.integer({ min: 0, max: 0xffffffff })),
  ),
})

test('an IPv4 address is trusted if one of the networks contains it, also in IPv6 form', () => {
  fc.assert(
    fc.property(arbitrary, ({ networks, asked }) => {
      const list = new BlockList()
      for (const { bits, prefix } of networks) list.addSubnet(address(start(bits, prefix)), prefix, 'ipv4')
      const trusted = new TrustedNetworks(networks.map(({ bits, prefix }) => `${address(start(bits, prefix))}/${prefix}`))
      for (const [i, where, any] of asked) {
        const { bits, prefix } = networks[i % networks.length]!
        const first = start(bits, prefix)
        const last = (first | ~(-1 << (32 - prefix))) >>> 0
        const at = { first, last: prefix === 32 ? first : last, before: (first - 1) >>> 0, after: (last + 1) >>> 0, any }[where]!
        const expected = list.check(address(at), 'ipv4') ? 'trusted' : 'other'
        assert.equal(trusted.judge(address(at)), expected, address(at))
        assert.equal(trusted.judge(`::ffff:${address(at)}`), expected, `::ffff:${address(at)}`)
      }
    }),
  )
})

test('the named networks end where they should', () => {
  const trusted = new TrustedNetworks(['loopback', 'private'])
  const rows: [address: string, expected: string][] = [
    ['172.15.255.255', 'other'],
    ['172.16.0.0', 'trusted'],
    ['172.31.255.255', 'trusted'],
    ['172.32.0.0', 'other'],
    ['192.167.255.255', 'other'],
    ['192.168.0.0', 'trusted'],
    ['192.169.0.0', 'other'],
    ['126.255.255.255', 'other'],
    ['127.0.0.0', 'trusted'],
    ['255.255.255.255', 'other'],
    ['0.0.0.0', 'other'],
    ['010.0.0.1', 'none'],
    ['10.1', 'none'],
    ['0x0a000001', 'none'],
    ['::1', 'trusted'],
    ['fd00::1', 'trusted'],
    ['2001:db8::1', 'other'],
  ]
  for (const [address, expected] of rows) assert.equal(trusted.judge(address), expected, address)
})
