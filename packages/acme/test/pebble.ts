// The test CA of Let's Encrypt for one test: https://github.com/letsencrypt/pebble. It finds every name on this machine.

import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { absent, freePort } from '../../../test/proxies/proxy.ts'
import { cert, key } from '../../weirjs/test/support/certificate.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'

export const noPebble: string | false = absent('pebble', '-h')

interface PebbleOptions {
  /** Where it checks challenges. */
  readonly httpPort: number
  readonly tlsPort: number
  /** How many good nonces it refuses, in percent. */
  readonly rejected: number
  readonly eab?: Readonly<Record<string, string>>
  /** How long it sleeps at most before it checks a challenge. Default 0. */
  readonly sleepsSeconds?: number
}

export interface Pebble {
  readonly directory: string
  /** Trusts the CA of its own interface. */
  readonly fetch: typeof globalThis.fetch
}

export async function startPebble(t: TestContext, { httpPort, tlsPort, rejected, eab, sleepsSeconds }: PebbleOptions): Promise<Pebble> {
  const folder = temporaryDirectory(t)
  const [port, management, dns] = [await freePort(), await freePort(), await freePort()]
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: join(folder, 'cert.pem'),
        privateKey: join(folder, 'key.pem'),
        httpPort,
        tlsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: eab !== undefined,
        ...(eab === undefined ? {} : { externalAccountMACKeys: eab }),
      },
    }),
  )
  run(t, 'pebble-challtestsrv', [
    ...['-defaultIPv6', '', '-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${await freePort()}`],
    ...['-http01', '', '-https01', '', '-tlsalpn01', ''],
  ])
  run(t, 'pebble', ['-config', join(folder, 'config.json'), '-dnsserver', `127.0.0.1:${dns}`], {
    PEBBLE_WFE_NONCEREJECT: String(rejected),
    ...(sleepsSeconds === undefined ? { PEBBLE_VA_NOSLEEP: '1' } : { PEBBLE_VA_SLEEPTIME: String(sleepsSeconds) }),
  })
  const pebble = { directory: `https://localhost:${port}/dir`, fetch: trusting(cert) }
  for (;;) {
    try {
      await pebble.fetch(pebble.directory, {})
      return pebble
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function run(t: TestContext, program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  t.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  return child
}

/** `fetch` of Node takes no certificates of a CA. */
export function trusting(ca: string): typeof globalThis.fetch {
  return (url, { method = 'GET', headers = {}, body, signal } = {}) =>
    new Promise<Response>((resolve, reject) => {
      const sent = request(
        String(url),
        { method, headers: headers as Record<string, string>, ca, signal: signal!, agent: false },
        (response) => {
          collect(response).then((bytes) => {
            const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
            resolve(new Response(method === 'HEAD' || bytes.length === 0 ? null : bytes, { status: response.statusCode!, headers: fields }))
          }, reject)
        },
      )
      sent.on('error', reject)
      sent.end(body as string | undefined)
    })
}

async function collect(response: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Buffer[] = []
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
  return new Uint8Array(Buffer.concat(pieces))
}
