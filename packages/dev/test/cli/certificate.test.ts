// The certificate of `weir dev --tls`: what is in it, when it is made anew, and who may read its key.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { temporaryDirectory } from '../../../weirjs/test/support/temporary.ts'
import { certificateFolder, certificateIn } from '../../src/cli/certificate.ts'
import { selfSigned } from '../../src/cli/self-signed.ts'
import { programFolder, RunningWeir, write } from '../support/command.ts'

/** Issued by `O=mkcert development CA`, whose key does not exist any more. */
const SIGNED = `-----BEGIN CERTIFICATE-----
MIIBRDCB7AIUanEz7GF3Vi1mGaH3pq2MiHYq0m0wCgYIKoZIzj0EAwIwIDEeMBwG
A1UECgwVbWtjZXJ0IGRldmVsb3BtZW50IENBMCAXDTI2MTEyODE4NDYyNVoYDzIx
MjYxMTA0MTg0NjI1WjApMScwJQYDVQQKDB5ta2NlcnQgZGV2ZWxvcG1lbnQgY2Vy
dGlmaWNhdGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQTjT5fMLzBO7fHH8k0
YwMir+VGS6SacVvtkYxV5YmMpDmQN6bO//SfCtxwNUgpgN5uEb6cVy5m3On8KkQ+
lMVdMAoGCCqGSM49BAMCA0cAMEQCIBr+FIU4b7DYnvD4LHbzk/B+Up4RZR05Wuuj
e5shdVEAAiBxjX+EVpqQDATn1RGibjnzf1YX+R/Tp/RDSsHGmNBMew==
-----END CERTIFICATE-----
`
const NOW = Date.now()
const DAY = 86_400_000
const noModes = process.platform === 'win32' && 'there are no modes here'

/** A GET that trusts nothing but `ca`. */
function ask(port: number, ca: string): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', servername: 'localhost', headers: { Host: `localhost:${port}` }, port, ca, agent: false },
      (response) => {
        response.setEncoding('utf8').on('data', resolve)
      },
    )
    asked.on('error', reject).end()
  })
}

/** With nothing in the path but what `mkcert` does, if it is there. */
function withPath(t: TestContext, mkcert?: string): string {
  const bin = temporaryDirectory(t)
  if (mkcert !== undefined) writeFileSync(join(bin, 'mkcert'), mkcert, { mode: 0o755 })
  const before = process.env['PATH']
  process.env['PATH'] = bin
  t.after(() => (process.env['PATH'] = before))
  return bin
}

test('a certificate is valid for this machine, and for TLS of Node and OpenSSL', async (t) => {
  const { key, cert } = selfSigned(['localhost'], [Uint8Array.of(127, 0, 0, 1), Uint8Array.of(...Array(15).fill(0), 1)], NOW)
  const one = new X509Certificate(cert)
  assert.ok(one.checkHost('localhost'))
  for (const address of ['127.0.0.1', '::1']) assert.ok(one.checkIP(address), address)
  assert.equal(one.checkHost('example.org'), undefined)
  assert.ok(one.verify(one.publicKey))
  assert.equal(one.ca, false)
  assert.deepEqual(one.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.ok(Date.parse(one.validFrom) <= NOW && Date.parse(one.validTo) > NOW + 364 * DAY && Date.parse(one.validTo) < NOW + 398 * DAY)
  const server = createServer({ key, cert }, (_, response) => response.end('safe')).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  const text = await ask(port, cert)
  assert.equal(text, 'safe')
})

test('serial numbers differ, and are positive', () => {
  const serials = Array.from({ length: 20 }, () => new X509Certificate(selfSigned(['localhost'], [], NOW).cert).serialNumber)
  assert.equal(new Set(serials).size, 20)
  for (const serial of serials) assert.match(serial, /^[4-7][0-9A-F]{31}$/)
})

test('it is made once, and read by its user alone', { skip: noModes }, (t) => {
  withPath(t)
  const folder = join(temporaryDirectory(t), 'new', 'tls')
  const told: string[] = []
  const files = certificateIn(folder, (text) => told.push(text), NOW)
  const mode = (path: string): number => statSync(path).mode & 0o777
  assert.deepEqual([mode(folder), mode(files.key)], [0o700, 0o600])
  assert.match(told[0]!, /is signed by itself, so browsers warn of it\. .*install mkcert and run mkcert -install/)
  const first = readFileSync(files.cert, 'utf8')
  certificateIn(folder, () => {}, NOW + 300 * DAY)
  assert.equal(readFileSync(files.cert, 'utf8'), first)
})

test('it is made anew when it ends soon, is damaged, or others may have read its key', { skip: noModes }, (t) => {
  withPath(t)
  const folder = temporaryDirectory(t)
  const make = (now = NOW): string => readFileSync(certificateIn(folder, () => {}, now).cert, 'utf8')
  let before = make()
  const changes = (after: string): void => {
    assert.notEqual(after, before)
    before = after
  }
  changes(make(NOW + 360 * DAY))
  writeFileSync(join(folder, 'cert.pem'), 'damaged')
  changes(make(NOW + 360 * DAY))
  chmodSync(join(folder, 'key.pem'), 0o644)
  changes(make(NOW + 360 * DAY))
  assert.equal(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600)
})

test('mkcert makes it, if it is there and its authority is installed', { skip: noModes }, (t) => {
  const root = temporaryDirectory(t)
  const folder = temporaryDirectory(t)
  const bin = withPath(t)
  const told: string[] = []
  const make = (): X509Certificate => new X509Certificate(readFileSync(certificateIn(folder, (text) => told.push(text), NOW).cert))
  assert.match(make().subject, /weir dev/)
  const other = selfSigned(['localhost'], [], NOW)
  const script = `#!/bin/sh
if [ "$1" = -CAROOT ]; then echo '${root}'; exit 0; fi
/bin/cat > "$2" <<'END'
${other.key}END
/bin/cat > "$4" <<'END'
${SIGNED}END
echo "$@" > '${join(root, 'arguments')}'
`
  writeFileSync(join(bin, 'mkcert'), script, { mode: 0o755 })
  assert.match(make().subject, /weir dev/, 'mkcert -install has not been run')
  mkdirSync(root, { recursive: true })
  writeFileSync(join(root, 'rootCA.pem'), other.cert)
  assert.match(make().issuer, /mkcert/)
  assert.match(told.at(-1)!, /^made a certificate with mkcert, in /)
  assert.match(readFileSync(join(root, 'arguments'), 'utf8'), / localhost 127\.0\.0\.1 ::1\n$/)
  assert.equal(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600)
  const count = told.length
  assert.match(make().issuer, /mkcert/)
  assert.equal(told.length, count, 'it is kept, and nothing is said')
})

test('the folder is that of the user', { skip: noModes }, () => {
  assert.equal(certificateFolder({ XDG_STATE_HOME: '/state' }), '/state/weir/tls')
  assert.match(certificateFolder({ XDG_STATE_HOME: 'relative' }), /\/\.local\/state\/weir\/tls$/)
})

test('a program without a certificate speaks TLS with it, also after a restart', { skip: noModes }, async (t) => {
  withPath(t)
  const state = temporaryDirectory(t)
  const before = process.env['XDG_STATE_HOME']
  process.env['XDG_STATE_HOME'] = state
  t.after(() => {
    if (before === undefined) delete process.env['XDG_STATE_HOME']
    else process.env['XDG_STATE_HOME'] = before
  })
  const app = (word: string): string => `import { HttpServer } from 'weirjs'
    const server = new HttpServer('127.0.0.1', 0)
    server.mapGet('/', (_, { isSecure }) => '${word} ' + isSecure)
    await server.run()`
  const folder = programFolder(t, { 'app.js': app('first') })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js', '--tls')
  const printed = /https:\/\/127\.0\.0\.1:(\d+), 1 route, ready in/
  const port = Number((await weir.prints(printed))[1])
  const ca = readFileSync(join(state, 'weir', 'tls', 'cert.pem'), 'utf8')
  assert.equal(await ask(port, ca), 'first true')
  write(folder, { 'app.js': app('second') })
  await weir.prints(printed, 2)
  assert.equal(await ask(port, ca), 'second true')
  assert.equal(weir.printed.split('is signed by itself').length, 2, 'it is said once')
})
