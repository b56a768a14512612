// nginx and HAProxy in front of a server, for one test: started on loopback with their own configuration, and stopped with the test.
//
// Each proxy marks every request that it forwards. X-Proxy-Id is new for each request and is repeated in the response; X-Proxy-Method and
// X-Proxy-Target repeat the request line. A request that a proxy did not mean to forward has no id.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A running proxy. */
export interface Proxy {
  readonly port: number
  /**
   * What it read as the bodies of requests, by id, as latin1 text. No entry if it does not record a body. Complete once it has stopped.
   */
  bodies(): ReadonlyMap<string, string>
  stop(): Promise<void>
}

/** One configuration of a proxy. */
export interface ProxyKind {
  readonly name: string
  /** Why it cannot run here, or false. */
  readonly missing: string | false
  /** Starts it in front of the server on `port`. It stops with the test. */
  start(t: TestContext, port: number): Promise<Proxy>
}

export const noNginx = absent('nginx', '-v')
export const noHaproxy = absent('haproxy', '-v')

export const PROXIES: readonly ProxyKind[] = [
  { name: 'nginx that buffers bodies', missing: noNginx, start: (t, port) => startNginx(t, port, 'on') },
  { name: 'nginx that streams bodies', missing: noNginx, start: (t, port) => startNginx(t, port, 'off') },
  { name: 'HAProxy', missing: noHaproxy, start: startHaproxy },
]

export function absent(program: string, flag: string): string | false {
  return spawnSync(program, [flag]).status === 0 ? false : `${program} is not on the PATH: install it to run these tests`
}

/** nginx as lenient as it can be configured, because the tests need what it lets through. */
async function startNginx(t: TestContext, upstream: number, buffering: 'on' | 'off'): Promise<Proxy> {
  const port = await freePort()
  const folder = temporaryFolder()
  const log = join(folder, 'requests.log')
  writeFileSync(log, '')
  const configuration = `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  log_format bodies escape=json '{"id":"$request_id","body":"$request_body"}';
  access_log ${log} bodies;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  client_header_timeout 1s;
  client_body_timeout 1s;
  keepalive_timeout 1s;
  lingering_timeout 1s;
  client_max_body_size 0;
  client_body_buffer_size 256k;
  client_body_in_single_buffer on;
  large_client_header_buffers 4 128k;
  ignore_invalid_headers off;
  underscores_in_headers on;
  merge_slashes off;
  upstream behind { server 127.0.0.1:${upstream}; keepalive 2; }
  server {
    listen 127.0.0.1:${port};
    add_header X-Proxy-Id $request_id always;
    location / {
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_request_buffering ${buffering};
      proxy_next_upstream off;
      proxy_ignore_client_abort on;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_set_header X-Proxy-Id $request_id;
      proxy_set_header X-Proxy-Method $request_method;
      proxy_set_header X-Proxy-Target $request_uri;
    }
  }
}
`
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration)
  const stop = await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return { port, stop, bodies: () => bodiesIn(log) }
}

/** nginx knows the body of a request only if it has buffered it. An empty value may mean either. */
function bodiesIn(log: string): Map<string, string> {
  const lines = readFileSync(log, 'latin1').split('\n').slice(0, -1)
  const entries = lines.map((line) => JSON.parse(line) as { id: string; body: string })
  return new Map(entries.filter(({ body }) => body !== '').map(({ id, body }) => [id, body]))
}

/** HAProxy reports what it read as the body in the field X-Proxy-Body, in hexadecimal. */
async function startHaproxy(t: TestContext, upstream: number): Promise<Proxy> {
  const { port, stop } = await runHaproxy(
    t,
    (port) => `
global
  maxconn 256
defaults
  mode http
  timeout connect 5s
  timeout server 10s
  timeout client 1s
  timeout http-request 1s
  timeout http-keep-alive 1s
  retries 0
  option http-buffer-request
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  unique-id-format %[uuid]
  unique-id-header X-Proxy-Id
  http-request set-header X-Proxy-Method %[method]
  http-request set-header X-Proxy-Target %[url]
  http-request set-header X-Proxy-Body %[req.body,hex] if { req.body_len lt 4096 }
  http-response set-header X-Proxy-Id %[unique-id]
  default_backend behind
backend behind
  server weir 127.0.0.1:${upstream}
`,
  )
  return { port, stop, bodies: () => new Map() }
}

/**
 * HAProxy in front of several servers, configured for restarting them in turn: it skips a server that accepts no connection, and gives a
 * request that met a closing connection to another server. It stops with the test. `settings` are those of each server, such as `proto h2`.
 */
export async function startBalancer(t: TestContext, upstreams: readonly number[], settings = ''): Promise<number> {
  const { port } = await runHaproxy(
    t,
    (port) => `
global
  maxconn 256
defaults
  mode http
  timeout connect 5s
  timeout server 20s
  timeout client 20s
  retries 3
  option redispatch 1
  retry-on conn-failure empty-response
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend behind
backend behind
  balance roundrobin
${upstreams.map((upstream, i) => `  server weir${i} 127.0.0.1:${upstream} ${settings}`).join('\n')}
`,
  )
  return port
}

/** @param configure returns its configuration for the port to listen on */
export async function runHaproxy(
  t: TestContext,
  configure: (port: number) => string,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configure(port))
  return { port, stop: await run(t, folder, 'haproxy', ['-db', '-q', '-f', file], port) }
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'weir-proxy-'))
}

/** Runs a program until the test ends, and then removes its folder. @returns a function that stops it earlier, once it listens */
export async function run(
  t: TestContext,
  folder: string,
  program: string,
  args: readonly string[],
  port: number,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  child.once('error', (error) => (said += error.message))
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await gone
    clearTimeout(late)
  }
  t.after(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  for (let attempt = 0; attempt < 200 && isRunning(child); attempt++) {
    if (await listens(port)) return stop
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error(`${program} is not listening: ${said}`)
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/**
 * A port that is currently free, and that the system gives to nobody who asks for any: those are from 32768 on Linux, from 49152 elsewhere.
 * Otherwise a connection or a server of another test could have it before the program that is about to start.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, 32_768)
    if (!given.has(port) && (await canListen(port))) {
      given.add(port)
      return port
    }
  }
}

/** Those that this process has got: none is free again before its program listens. */
const given = new Set<number>()

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
