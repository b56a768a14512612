// nginx with one worker, as a reference line for files: sendfile, open_file_cache and gzip_static, as in its guides. Its CPU time comes
// from /proc, in steps of 10 ms, so only sums over many turns are meaningful.
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'

import { FILES, keepSite } from '../site.mjs'

export const label = 'nginx'
export const missing = found() ? undefined : 'nginx is not on the PATH, or this is not Linux'
export const version = () => (missing === undefined ? /nginx\/(\S+)/.exec(said())[1] : 'none')

/** Clock ticks per second in /proc, which is 100 on every Linux. */
const TICKS = 100
let child

export async function start(workload) {
  if (workload.app !== 'files') return { skipped: 'it serves only files here' }
  const folder = keepSite()
  const port = await freePort()
  const file = `${folder}/nginx.conf`
  writeFileSync(file, configuration(folder, port))
  child = spawn('nginx', ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] })
  process.on('exit', () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await reachable(port)
  return { port }
}

export function cpuUsage() {
  // utime and stime are fields 14 and 15. The second field, the name, may contain blanks.
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ')
  return { user: (Number(fields[11]) * 1e6) / TICKS, system: (Number(fields[12]) * 1e6) / TICKS }
}

export const rssBytes = () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1'))[1]) * 1024

function configuration(folder, port) {
  const types = new Map(FILES.map(({ name, type }) => [name.slice(name.lastIndexOf('.') + 1), type]))
  return `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  types { ${[...types].map(([extension, type]) => `${type} ${extension};`).join(' ')} }
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=1000; gzip_static on; gzip_vary on;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port}; root ${folder}; }
}
`
}

function said() {
  return execFileSync('sh', ['-c', 'nginx -v 2>&1'], { encoding: 'utf8' })
}

function found() {
  try {
    return process.platform === 'linux' && /nginx\//.test(said())
  } catch {
    return false
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function reachable(port) {
  for (let i = 0; i < 100; i++) {
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('nginx is not listening')
}
