// The proxies of docs/guide/deploy.md, in front of two servers: their configurations as they are printed there, with ports of the test.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import { noCaddy } from './hops.ts'
import { freePort, noHaproxy, noNginx, run, runHaproxy, temporaryFolder } from './proxy.ts'

export interface DocumentedProxy {
  readonly name: string
  /** Why it cannot run here, or false. */
  readonly missing: string | false
  /** Starts it in front of servers on these two ports. @returns its own port */
  start(t: TestContext, ports: readonly number[]): Promise<number>
}

export const DOCUMENTED: readonly DocumentedProxy[] = [
  { name: 'nginx', missing: noNginx, start: startNginx },
  { name: 'HAProxy', missing: noHaproxy, start: startHaproxy },
  { name: 'Caddy', missing: noCaddy, start: startCaddy },
]

export const DEPLOYING = readFileSync('docs/guide/deploy.md', 'utf8')

/** The first block of the page in that language. */
export function blockIn(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(DEPLOYING)![1]!
}

function withPorts(language: string, front: RegExp, address: string, ports: readonly number[]): string {
  return blockIn(language).replace(front, address).replaceAll('8081', String(ports[0])).replaceAll('8082', String(ports[1]))
}

async function startNginx(t: TestContext, ports: readonly number[]): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
  const http = `access_log off;\n${places}\n${withPorts('nginx', /listen 80;/, `listen 127.0.0.1:${port};`, ports)}`
  writeFileSync(file, `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nevents {}\nhttp {\n${http}}\n`)
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return port
}

async function startHaproxy(t: TestContext, ports: readonly number[]): Promise<number> {
  const { port } = await runHaproxy(t, (front) => withPorts('haproxy', /bind :80$/m, `bind 127.0.0.1:${front}`, ports))
  return port
}

async function startCaddy(t: TestContext, ports: readonly number[]): Promise<number> {
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'Caddyfile')
  const site = withPorts('caddy', /^:80 \{/m, `http://:${port} {\n  bind 127.0.0.1`, ports)
  writeFileSync(file, `{\n  admin off\n  auto_https off\n  storage file_system ${folder}\n}\n${site}`)
  await run(t, folder, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port)
  return port
}
