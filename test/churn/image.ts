// `node build/test/churn/image.js`: builds the image of docs/guide/deploy.md from the packed package, runs it, and stops it.
//
// Needs root, buildah, debootstrap and `npm run build`. Where the image `node:24-slim` is not at hand, it is made of Debian and of the Node
// that runs this program. Not part of `npm test`: it takes a minute or two, and 2 GB for as long as it runs.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { DEPLOYING } from '../proxies/documented.ts'

const BASE = 'docker.io/library/node:24-slim'
const PORT = 20_157
const folder = mkdtempSync(join(tmpdir(), 'weir-image-'))
const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
const app = join(folder, 'app')

const server = new HttpServer({ logger: null, listen: [{ port: 0 }] })
server.mapGet('/weir.tgz', (_, { response }) => response.file(packed))
const packed = join(folder, npm('pack', '--silent', '--pack-destination', folder).trim())
await server.start()
try {
  if (!hasBase()) makeBase()
  await build()
  await run()
  console.log('the image was built, its program answered, and SIGTERM stopped it')
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

function npm(...args: string[]): string {
  return execFileSync('npm', args, { encoding: 'utf8', cwd: existsSync(app) ? app : process.cwd() })
}

function buildah(...args: string[]): string {
  return execFileSync('buildah', [...storage, ...args], { encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}

function hasBase(): boolean {
  return spawnSync('buildah', [...storage, 'pull', '--quiet', BASE], { stdio: 'ignore' }).status === 0
}

/** Debian with Node, npm and the user `node`, as in the image of that name. */
function makeBase(): void {
  const root = join(folder, 'base')
  execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const bin = join(root, 'usr/local/bin')
  copyFileSync(process.execPath, join(bin, 'node'))
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  mkdirSync(join(root, 'usr/local/lib/node_modules'), { recursive: true })
  cpSync(join(modules, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(bin, 'npm'))
  execFileSync('chroot', [root, 'useradd', '--create-home', 'node'])
  const authorities = process.env['NODE_EXTRA_CA_CERTS']
  const inside = '/etc/ssl/certs/ca-certificates.crt'
  if (authorities !== undefined) copyFileSync(authorities, join(root, inside))
  const tar = join(folder, 'base.tar')
  execFileSync('tar', ['-C', root, '-cf', tar, '.'])
  const container = buildah('from', 'scratch')
  buildah('add', container, tar, '/')
  buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', '--env', `NODE_EXTRA_CA_CERTS=${inside}`, container)
  buildah('commit', '--quiet', container, BASE)
}

/** The Dockerfile as it is printed. The package comes from a server, as those of a registry do. */
async function build(): Promise<void> {
  mkdirSync(app)
  writeFileSync(join(app, 'Dockerfile'), /^```dockerfile\n([\s\S]*?)^```$/m.exec(DEPLOYING)![1]!)
  const weir = `http://127.0.0.1:${server.endpoints[0]!.port}/weir.tgz`
  writeFileSync(join(app, 'package.json'), JSON.stringify({ type: 'module', private: true, dependencies: { weir } }))
  writeFileSync(
    join(app, 'app.js'),
    `import { HttpServer } from 'weirjs'
     const server = new HttpServer({ address: '0.0.0.0', port: ${PORT} })
     server.mapGet('/', () => \`uid \${process.getuid()}\`)
     await server.run({ signals: ['SIGTERM'] })
     console.log('stopped')`,
  )
  // Not execFileSync: this process serves the package.
  await finished('npm', ['install', '--package-lock-only', '--silent'])
  await finished('buildah', [...storage, 'bud', '--quiet', '--isolation', 'chroot', '--pull-never', '--tag', 'hello', app])
  const { config } = JSON.parse(buildah('inspect', '--type', 'image', 'hello')).OCIv1
  assert.deepEqual([config.StopSignal, config.User, config.Cmd], ['SIGTERM', 'node', ['node', 'app.js']])
}

async function finished(command: string, args: string[]): Promise<void> {
  const [code] = await once(spawn(command, args, { cwd: app, stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  assert.equal(code, 0, command)
}

async function run(): Promise<void> {
  const container = buildah('from', '--pull-never', 'localhost/hello')
  const root = buildah('mount', container)
  assert.ok(existsSync(join(root, 'app/node_modules/weirjs/package.json')))
  const child = spawn('buildah', [...storage, 'run', '--isolation', 'chroot', container, 'node', 'app.js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text))
  const exit = once(child, 'exit')
  try {
    assert.equal(await answer(), 'uid 1000')
    process.kill(leafOf(child.pid!), 'SIGTERM')
    assert.deepEqual([(await exit)[0], output], [0, 'stopped\n'])
  } finally {
    if (child.exitCode === null) process.kill(leafOf(child.pid!), 'SIGKILL')
  }
  buildah('umount', container)
}

async function answer(): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      return await (await fetch(`http://127.0.0.1:${PORT}/`)).text()
    } catch {
      await sleep(100)
    }
  }
  throw new Error('the program in the image did not answer')
}

/** The last descendant of a process: buildah has processes of its own around the program. */
function leafOf(pid: number): number {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
  return stdout === '' ? pid : leafOf(Number(stdout.trim().split('\n').at(-1)))
}
