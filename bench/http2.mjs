// HTTP/2 over TLS: weir compared with node:http2's stream API by hand, and with nghttpd and nginx where they are installed.
//
//   npm run build && node bench/http2.mjs [--rounds 9] [--only hello-16x32,echo-64k] [--servers weir,nginx] [--transfer] [--memory 2000]
//     [--other path/to/dist/index.js] [--seconds 0.6] [--cleartext]
//
// The load is h2load, of the Debian package nghttp2-client. Each server is a process on one core, and h2load runs on the other. In each round
// every server gets the same number of requests, in a rotating order, so that the ratios of a round hold on a machine that does other work too.
// --transfer: 1 GiB in each direction, on one stream, by curl, against HTTP/1.1 over TLS. --memory: so many idle connections of each kind.
// --other: another build of weir.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { parseArgs, promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { Child } from './child.mjs'
import { describeMachine, LOAD_CORE, leaveServerCore, onCore, SERVER_CORE } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    only: { type: 'string' },
    servers: { type: 'string' },
    seconds: { type: 'string', default: '0.6' },
    memory: { type: 'string', default: '0' },
    transfer: { type: 'boolean', default: false },
    cleartext: { type: 'boolean', default: false },
    other: { type: 'string', default: '' },
    'cpu-prof': { type: 'string' },
    serve: { type: 'string' },
    folder: { type: 'string', default: '' },
  },
})
const FILE = 'http2.mjs'
const KIB = 1024
/** Rounds before the first that counts: V8 compiles meanwhile. */
const WARM_UP = 5
const run = promisify(execFile)
/** 1 KiB of JSON, made for each request. */
const documentOf = (n) => ({
  n,
  items: Array.from({ length: 12 }, (_, i) => ({ id: i, name: `item number ${i}`, price: i * 1.5, tags: ['a', 'b'] })),
})
const MIB = Buffer.alloc(KIB * KIB, 'x')
const ZEROES = Buffer.alloc(64 * KIB)
const GIB_PIECES = (KIB * KIB * KIB) / ZEROES.length

/** `clients` connections with `streams` requests in flight on each. */
const WORKLOADS = [
  { id: 'hello-16x32', title: '`OK`, 16 connections × 32 streams', path: '/hello', clients: 16, streams: 32 },
  { id: 'hello-64x1', title: '`OK`, 64 connections × 1 stream', path: '/hello', clients: 64, streams: 1 },
  { id: 'json-16x32', title: '1 KiB of JSON made for each request, 16 × 32', path: '/json', clients: 16, streams: 32 },
  { id: 'echo-1k', title: 'POST of 1 KiB echoed, 16 × 32', path: '/echo', clients: 16, streams: 32, body: KIB },
  { id: 'echo-64k', title: 'POST of 64 KiB echoed, 16 × 32', path: '/echo', clients: 16, streams: 32, body: 64 * KIB },
  { id: 'mib', title: '1 MiB of bytes, 4 × 4', path: '/mib', clients: 4, streams: 4 },
]

const pem = (name) => readFileSync(join(values.folder, name))

async function weir(path, cleartext = values.cleartext) {
  const { HttpServer } = await import(path)
  const secure = cleartext ? { http2: 'cleartext' } : { tls: { key: pem('key.pem'), cert: pem('cert.pem') }, http2: true }
  const server = new HttpServer({ ...secure, timeouts: { keepAliveTimeout: null } })
  let n = 0
  server.mapGet('/hello', () => 'OK')
  server.mapGet('/json', () => documentOf(n++))
  server.mapPost('/echo', (_, { request }) => request.bodySpan)
  server.mapGet('/mib', () => MIB)
  server.mapGet('/gib', (_, { response }) => response.header('content-length', KIB ** 3).stream(gib()))
  server.mapPost('/gib', { body: 'stream', maxRequestBodySize: null }, async (_, { request }) => {
    let bytes = 0
    for await (const chunk of request.bodyStream()) bytes += chunk.length
    return String(bytes)
  })
  await server.start()
  return server.port
}

async function* gib() {
  for (let i = 0; i < GIB_PIECES; i++) yield ZEROES
}

const SERVERS = {
  /** As somebody writes it who counts microseconds and still wants correct responses. */
  async 'node:http2'() {
    const http2 = await import('node:http2')
    const server = values.cleartext
      ? http2.createServer()
      : http2.createSecureServer({ key: pem('key.pem'), cert: pem('cert.pem'), settings: { initialWindowSize: 256 * KIB } })
    let n = 0
    const send = (stream, type, body) => {
      stream.respond({ ':status': 200, 'content-type': type, 'content-length': body.length })
      stream.end(body)
    }
    server.on('stream', (stream, headers) => {
      stream.on('error', () => {})
      switch (headers[':path']) {
        case '/hello':
          return send(stream, 'text/plain; charset=utf-8', Buffer.from('OK'))
        case '/json':
          return send(stream, 'application/json', Buffer.from(JSON.stringify(documentOf(n++))))
        case '/mib':
          return send(stream, 'application/octet-stream', MIB)
        case '/echo': {
          const chunks = []
          stream.on('data', (chunk) => chunks.push(chunk))
          stream.on('end', () => send(stream, 'application/octet-stream', chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
        }
      }
    })
    await new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
    return server.address().port
  },
  weir: () => weir('../dist/index.js'),
  ...(values.other === '' ? {} : { other: () => weir(values.other, false) }),
}

/** Servers that are programs of their own: command and arguments, and which workloads they can serve. */
const PROGRAMS = {
  nghttpd: {
    serves: ({ path }) => path === '/hello' || path === '/mib',
    command: (folder, port) => [
      'nghttpd',
      [
        ...(values.cleartext ? ['--no-tls'] : []),
        '-a',
        '127.0.0.1',
        '-d',
        folder,
        String(port),
        ...(values.cleartext ? [] : [join(folder, 'key.pem'), join(folder, 'cert.pem')]),
      ],
    ],
  },
  nginx: {
    serves: ({ path }) => path === '/hello' || path === '/mib',
    command(folder, port) {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')
      const tls = values.cleartext ? '' : `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`
      writeFileSync(
        join(folder, 'nginx.conf'),
        `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit; events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; open_file_cache max=1000; ${paths}
  server { listen 127.0.0.1:${port} ${values.cleartext ? '' : 'ssl'} http2; http2_max_concurrent_streams 128; ${tls} root ${folder};
    location = /hello { default_type text/plain; return 200 OK; } } }`,
      )
      return ['nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']]
    },
  },
}

if (values.serve !== undefined) await serve(values.serve)
else await compare()

async function serve(name) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const answers = {
    cpu: () => process.cpuUsage(),
    async memory() {
      for (let i = 0; i < 3; i++) {
        collect()
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return process.memoryUsage()
    },
  }
  process.on('message', async (question) => process.send(await answers[question]()))
  process.on('disconnect', () => process.exit())
  process.send({ port: await SERVERS[name]() })
}

/** A server in a child process of ours, or a program; `cpu` in microseconds. */
async function start(name, { pinning, folder }) {
  const program = PROGRAMS[name]
  if (program === undefined) {
    const args = ['--serve', name, '--folder', folder, '--other', values.other, ...(values.cleartext ? ['--cleartext'] : [])]
    const flags = values['cpu-prof'] === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values['cpu-prof']}`]
    const child = new Child(FILE, args, { pinning, core: SERVER_CORE, flags })
    const { port } = await child.heard()
    const cpu = async () => {
      const { user, system } = await child.ask('cpu')
      return user + system
    }
    return { port, cpu, memory: () => child.ask('memory'), stop: () => child.stop() }
  }
  const port = await freePort()
  const [command, args] = program.command(folder, port)
  const line = onCore(pinning, SERVER_CORE, command, args)
  const child = spawn(line.command, line.args, { stdio: 'ignore' })
  process.on('exit', () => child.kill('SIGKILL'))
  await reachable(port)
  const cpu = async () => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  }
  return { port, cpu, stop: async () => child.kill('SIGKILL') }
}

async function compare() {
  const machine = describeMachine()
  const { pinning } = machine
  leaveServerCore(pinning)
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const keys = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', join(folder, 'key.pem')]
  execFileSync('openssl', ['req', '-x509', ...keys, '-out', join(folder, 'cert.pem'), '-days', '2', ...subject], { stdio: 'ignore' })
  writeFileSync(join(folder, 'hello'), 'OK')
  writeFileSync(join(folder, 'mib'), MIB)
  const place = { pinning, folder }
  const tls = values.cleartext ? 'cleartext' : 'TLS'
  console.log(`- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${pinning ? 'a core each' : 'not pinned'}; ${tls}`)
  console.log(`- Node ${machine.node}; commit ${machine.commit}; \`node bench/http2.mjs ${process.argv.slice(2).join(' ')}\`\n`)
  if (Number(values.rounds) > 0) await compareRequests(place)
  if (values.transfer) await compareTransfers(place)
  if (Number(values.memory) > 0) await compareMemory(place)
}

async function compareRequests(place) {
  const all = [...Object.keys(SERVERS), ...Object.keys(PROGRAMS).filter(isInstalled)]
  const wanted = values.servers === undefined ? all : ['node:http2', ...values.servers.split(',')]
  const names = all.filter((name) => wanted.includes(name))
  console.log(`| workload | ${names.map((name) => (name === 'node:http2' ? `${name}, CPU µs` : name)).join(' | ')} |`)
  console.log(`|${' --- |'.repeat(names.length + 1)}`)
  for (const workload of WORKLOADS) {
    if (values.only !== undefined && !values.only.split(',').includes(workload.id)) continue
    const running = new Map()
    for (const name of names) if (PROGRAMS[name]?.serves(workload) !== false) running.set(name, await start(name, place))
    const costs = []
    // Each round tells how many requests take the time that was asked for.
    const counts = new Map()
    for (let round = -WARM_UP; round < Number(values.rounds); round++) {
      const cost = {}
      for (let i = 0; i < running.size; i++) {
        const [name, server] = [...running][(i + round + WARM_UP) % running.size]
        const count = counts.get(name) ?? 50 * workload.clients
        const start = await server.cpu()
        await load(workload, server.port, workload.clients, place)
        const before = await server.cpu()
        const began = performance.now()
        await load(workload, server.port, workload.clients + count, place)
        const seconds = (performance.now() - began) / 1000
        // Without what connections cost: both have opened the same number.
        cost[name] = ((await server.cpu()) - before - (before - start)) / count
        counts.set(name, Math.max(20 * workload.clients, Math.round(count * Math.min(5, Number(values.seconds) / seconds))))
      }
      if (round >= 0) costs.push(cost)
    }
    for (const server of running.values()) await server.stop()
    const cells = names.map((name) => {
      if (!running.has(name)) return ''
      if (name === 'node:http2') return median(costs.map((cost) => cost[name])).toFixed(1)
      const ratios = costs.map((cost) => cost['node:http2'] / cost[name])
      return `**${median(ratios).toFixed(2)}** ± ${(uncertainty(ratios) * 100).toFixed(0)} %`
    })
    console.log(`| ${workload.title} | ${cells.join(' | ')} |`)
  }
  console.log('\nRatios of CPU time per request to node:http2 in the same round: above 1 is better. ± is the 95 % confidence interval.\n')
}

async function load({ path, clients, streams, body }, port, count, { pinning, folder }) {
  const args = ['-n', String(count), '-c', String(clients), '-m', String(streams)]
  if (body !== undefined) {
    writeFileSync(join(folder, 'body'), Buffer.alloc(body, 'x'))
    args.push('-d', join(folder, 'body'))
  }
  const line = onCore(pinning, LOAD_CORE, 'h2load', [...args, `${values.cleartext ? 'http' : 'https'}://127.0.0.1:${port}${path}`])
  const { stdout } = await run(line.command, line.args, { timeout: 60_000 })
  const succeeded = Number(/(\d+) succeeded/.exec(stdout)?.[1])
  const ok = Number(/status codes: (\d+) 2xx/.exec(stdout)?.[1])
  if (succeeded !== count || ok !== count) throw new Error(`${path}: ${succeeded} of ${count} succeeded, ${ok} with 2xx\n${stdout}`)
}

/** 1 GiB in each direction, over both protocols, from and to weir. */
async function compareTransfers(place) {
  const server = await start('weir', place)
  const url = `https://127.0.0.1:${server.port}/gib`
  const zeroes = ['-c', `head -c ${KIB ** 3} /dev/zero | curl -sSkT - -X POST "$@" -o /dev/null`, 'sh']
  const ways = {
    down: (protocol) => run('taskset', ['-c', String(LOAD_CORE), 'curl', '-sSk', protocol, '-o', '/dev/null', url]),
    up: (protocol) => run('taskset', ['-c', String(LOAD_CORE), 'sh', ...zeroes, protocol, url]),
  }
  console.log('| 1 GiB | HTTP/1.1, CPU s | HTTP/2 | time of HTTP/1.1, s | HTTP/2 |')
  console.log(`|${' --- |'.repeat(5)}`)
  for (const [way, transfer] of Object.entries(ways)) {
    const cpu = { '--http1.1': [], '--http2': [] }
    const time = { '--http1.1': [], '--http2': [] }
    for (let round = 0; round < 5; round++) {
      for (const protocol of round % 2 === 0 ? ['--http1.1', '--http2'] : ['--http2', '--http1.1']) {
        const before = await server.cpu()
        const began = performance.now()
        await transfer(protocol)
        time[protocol].push((performance.now() - began) / 1000)
        cpu[protocol].push(((await server.cpu()) - before) / 1e6)
      }
    }
    const ratios = (of) => median(of['--http1.1'].map((one, i) => one / of['--http2'][i])).toFixed(2)
    console.log(
      `| ${way} | ${median(cpu['--http1.1']).toFixed(2)} | **${ratios(cpu)}** | ${median(time['--http1.1']).toFixed(2)} | **${ratios(time)}** |`,
    )
  }
  console.log()
  await server.stop()
}

const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]),
  // GET /hello, without the tables of HPACK
  ...((block) => [Buffer.from([0, 0, block.length, 1, 5, 0, 0, 0, 1]), block])(
    Buffer.concat([Buffer.from([0x82, 0x87, 0x01, 9]), Buffer.from('localhost'), Buffer.from([0x04, 6]), Buffer.from('/hello')]),
  ),
])
const HELLO = 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** Connections that have made one request, and are idle. */
async function compareMemory(place) {
  const count = Number(values.memory)
  console.log(`### KiB an idle connection over TLS, ${count} of them\n`)
  console.log('| server | RSS | heap | outside |')
  console.log(`|${' --- |'.repeat(4)}`)
  for (const [title, name, protocol] of [
    ['weir, HTTP/1.1', 'weir', 'http/1.1'],
    ['weir, HTTP/2', 'weir', 'h2'],
    ['node:http2', 'node:http2', 'h2'],
  ]) {
    const server = await start(name, place)
    const open = async (number) => {
      const sockets = []
      for (let i = 0; i < number; i += 50)
        sockets.push(...(await Promise.all(Array.from({ length: Math.min(50, number - i) }, () => visit(server.port, protocol)))))
      return sockets
    }
    for (const socket of await open(100)) socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, 500))
    const before = await server.memory()
    const sockets = await open(count)
    const after = await server.memory()
    const each = (kind) => ((after[kind] - before[kind]) / count / KIB).toFixed(2)
    console.log(`| ${title} | ${each('rss')} | ${each('heapUsed')} | ${each('external')} |`)
    for (const socket of sockets) socket.destroy()
    await server.stop()
  }
}

/** A connection whose one request has been answered. */
function visit(port, protocol) {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [protocol] }, () =>
      socket.write(protocol === 'h2' ? PREFACE : HELLO),
    )
    let _received = 0
    socket.on('error', reject)
    socket.on('data', (bytes) => {
      _received += bytes.length
      if (bytes.includes('OK')) setTimeout(() => resolve(socket), 20)
    })
  })
}

function isInstalled(name) {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createTcpServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function reachable(port) {
  for (let tries = 0; tries < 100; tries++) {
    const isOpen = await new Promise((resolve) => {
      const socket = connectTcp(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('close', () => {})
      setTimeout(() => socket.destroy(), 50)
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nothing listens on ${port}`)
}
