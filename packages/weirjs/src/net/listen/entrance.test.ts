import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { Connections } from '../connections/connections.ts'
import { HostRules } from '../hosts/host-rules.ts'
import { Observers } from '../observe/observers.ts'
import { Proxies } from '../proxies/proxies.ts'
import { Entrance } from './entrance.ts'

/** An endpoint that requires PROXY headers, and what it reports and tells observers. */
function newEntrance(options: { readonly unixSocket: string } | { readonly port: number }) {
  const reported: string[] = []
  const told: unknown[] = []
  const observers = new Observers(() => {})
  observers.add({ end: ({ code }) => told.push(code) })
  const proxies = new Proxies({ trust: ['10.0.0.0/8'] })
  const hostRules = new HostRules({ hosts: 'any', proxyHosts: [], warn: () => {} })
  const host = { observers, proxies, hostRules, reportAccept: (error: Error) => reported.push(error.message) } as unknown as ConnectionHost
  const entrance = new Entrance({ ...options, proxyProtocol: 'required' }, host, new Connections(null, observers))
  const admit = (remoteAddress: string | undefined) => {
    let isDestroyed = false
    const socket = { remoteAddress, destroy: () => (isDestroyed = true) } as unknown as Socket
    const isAdmitted = entrance.admit(socket)
    observers.flush()
    return { isAdmitted, isDestroyed }
  }
  return { admit, reported, told }
}

test('only trusted peers are admitted; others are recorded, and the first one is reported', () => {
  const { admit, reported, told } = newEntrance({ port: 0 })
  assert.deepEqual(admit('10.0.0.1'), { isAdmitted: true, isDestroyed: false })
  for (const address of ['192.0.2.1', '192.0.2.2']) assert.deepEqual(admit(address), { isAdmitted: false, isDestroyed: true })
  assert.deepEqual(told, ['WEIR_PROXY_PEER', 'WEIR_PROXY_PEER'])
  assert.deepEqual(reported, ['only trusted proxies may connect here: 192.0.2.1 is not in proxies.trust'])
})

test('a peer that has left before it was accepted is not taken for an untrusted one', () => {
  const { admit, reported, told } = newEntrance({ port: 0 })
  assert.deepEqual(admit(undefined), { isAdmitted: false, isDestroyed: true })
  assert.deepEqual([told, reported], [[], []])
})

test('a peer at a Unix socket has no address', () => {
  const { admit, reported } = newEntrance({ unixSocket: '/tmp/x.sock' })
  assert.deepEqual(admit(undefined), { isAdmitted: false, isDestroyed: true })
  assert.deepEqual(reported, ['only trusted proxies may connect here: a Unix socket is not in proxies.trust'])
})
