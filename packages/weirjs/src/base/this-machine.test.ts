import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isLocalName, isLoopback, isSecureUrl } from './this-machine.ts'

test('addresses of this machine', () => {
  for (const address of ['127.0.0.1', '127.8.9.255', '::1', '::ffff:127.0.0.1']) assert.ok(isLoopback(address), address)
  for (const address of ['', '128.0.0.1', '10.0.0.1', '::', '::2', '127.0.0.1.example', 'x127.0.0.1', '127.1'])
    assert.ok(!isLoopback(address))
})

test('names of this machine', () => {
  for (const host of ['localhost', 'app.localhost', '127.0.0.1', '[::1]']) assert.ok(isLocalName(host), host)
  for (const host of ['', 'localhost.example', 'evillocalhost', '127.0.0.1.example', '[::2]', '192.168.1.1'])
    assert.ok(!isLocalName(host), host)
})

test('URLs that nobody can change the responses of', () => {
  for (const url of ['https://a.example', 'http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:1/keys'])
    assert.ok(isSecureUrl(new URL(url)), url)
  for (const url of ['http://a.example', 'http://app.localhost', 'ftp://localhost', 'http://localhost.example', 'http://127.0.0.1.example'])
    assert.ok(!isSecureUrl(new URL(url)), url)
})
