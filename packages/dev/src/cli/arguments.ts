// The command line of `weir`: its commands, their options, and the text that explains them.

import { parseArgs } from 'node:util'

import { completionFor, SHELLS, type Shell } from './completion.ts'
import type { AskedRequest } from './messages.ts'

/** An invalid command line. */
export class UsageError extends Error {
  readonly topic: string | null

  /** @param topic the command that it is about; null for none */
  constructor(message: string, topic: string | null) {
    super(message)
    this.topic = topic
  }
}

interface AppCommand {
  /** As given. */
  readonly file: string
  /** The export that has the server; null: the first usual one. */
  readonly exportName: string | null
  /** The arguments of the program in `process.argv`: everything after `--`. */
  readonly args: readonly string[]
}

export interface DevelopCommand extends AppCommand {
  readonly name: 'dev'
  /** Addresses to open for a program with `listen: 'inherited'`. */
  readonly listen: readonly { readonly address: string; readonly port: number }[]
  /** More files and folders whose changes restart the program. */
  readonly watch: readonly string[]
  /** How long requests in progress may take when the program restarts, in milliseconds. */
  readonly graceMs: number
  /** Whether endpoints without a certificate get one for development. */
  readonly tls: boolean
  /** Whether the program gets what is typed in a terminal, and the command reads no keys. */
  readonly stdin: boolean
}

export interface TypesCommand {
  readonly name: 'types'
  /** The document; null: stdin. */
  readonly file: string | null
  /** Where the declarations are written; null: stdout. */
  readonly out: string | null
}

export type ParsedCommand =
  | { readonly name: 'help'; readonly topic: string | null }
  | { readonly name: 'version' }
  | { readonly name: 'completion'; readonly shell: Shell }
  | ({ readonly name: 'routes' | 'limits'; readonly asJson: boolean } & AppCommand)
  | ({ readonly name: 'openapi'; readonly module: string | null } & AppCommand)
  | ({ readonly name: 'explain'; readonly asJson: boolean; readonly request: AskedRequest } & AppCommand)
  | TypesCommand
  | DevelopCommand

const GRACE_MS = 2_000
const DEFAULT_ADDRESS = '127.0.0.1'

const COMMON = `  --export <name>   the export of the file that has the server
  -h, --help        this text`

const USAGES: Readonly<Record<string, string>> = {
  routes: `Usage: weir routes <file> [options] [-- arguments of the program]

Lists the routes of the program. It does not listen.

  --json            as JSON
${COMMON}`,
  limits: `Usage: weir limits <file> [options] [-- arguments of the program]

Lists every limit and timeout in force, and where each was set. The program does not listen.

  --json            as JSON
${COMMON}`,
  openapi: `Usage: weir openapi <file> [options] [-- arguments of the program]

Writes the document of @weirjs/openapi, as JSON. The program does not listen.

  --module <name>   the name of the module, if the program has several documents
${COMMON}`,
  types: `Usage: weir types [file] [options]

Writes TypeScript declarations for the clients of an API, from its OpenAPI document (3.0 to 3.2, as JSON). Without a file, it reads stdin.

  -o, --output <file>   where to write them. Default: stdout
  -h, --help            this text`,
  explain: `Usage: weir explain <file> [method] <url> [options] [-- arguments of the program]

Explains why a request would be answered as it is. Nothing of the program handles it.

  -H, --header <'Name: value'>  a header field; may be repeated
  -d, --data <text | @file>     the body; JSON unless it is not JSON or a Content-Type is given
  --endpoint <name>             the endpoint that the client connects to
  --peer <address>              the address that the client connects from
  --secure                      the client speaks TLS
  --json                        as JSON
  --export <name>               the export of the file that has the server
  -h, --help                    this text`,
  dev: `Usage: weir dev <file> [options] [-- arguments of the program]

Runs the program, and restarts it when a source file changes. Connections wait in the meantime.

  --listen <[address:]port>  a socket to pass to a program with listen: 'inherited'; may be repeated
  --tls                      speaks TLS with a certificate for localhost, of mkcert if it is there
  --watch <path>             one more file or folder to watch; may be repeated
  --grace <ms>               how long requests in progress may take at a restart. Default ${GRACE_MS}
  --stdin                    passes what is typed in the terminal to the program; there are no keys
  --export <name>            the export of the file that has the server
  -h, --help                 this text

In a terminal, h and Enter list the keys: restart, open a page, clear, quit.`,
  completion: `Usage: weir completion <${SHELLS.join(' | ')}>

Writes what the shell completes of this command, for its startup file:

  source <(weir completion bash)     in ~/.bashrc
  source <(weir completion zsh)      in ~/.zshrc, after compinit
  weir completion fish | source      in ~/.config/fish/config.fish`,
}

const SUMMARIES: Readonly<Record<string, readonly [example: string, summary: string]>> = {
  routes: ['app.js', 'lists the routes of a program'],
  explain: ['app.js POST /users/5', 'explains why a request would be answered as it is'],
  limits: ['app.js', 'lists the limits in force, and where each was set'],
  openapi: ['app.js', 'writes the OpenAPI document of a program'],
  types: ['openapi.json', 'writes TypeScript declarations for clients of an OpenAPI document'],
  dev: ['app.ts', 'runs a program, and restarts it when a source file changes'],
  completion: ['bash', 'writes what bash, zsh or fish completes of this command'],
}

const USAGE = `Usage: weir <command> <file> [options]

${Object.entries(SUMMARIES)
  .map(([name, [example, summary]]) => `  weir ${`${name} ${example}`.padEnd(30)} ${summary}`)
  .join('\n')}

weir <command> --help shows the options of a command.`

export function usageOf(topic: string | null): string {
  return (topic === null ? undefined : USAGES[topic]) ?? USAGE
}

export function completionOf(shell: Shell): string {
  return completionFor(
    shell,
    Object.entries(SUMMARIES).map(([name, [, summary]]) => ({ name, summary, usage: usageOf(name) })),
  )
}

const TEXT = { type: 'string' } as const
const TEXTS = { type: 'string', multiple: true } as const
const FLAG = { type: 'boolean' } as const
const HELP = { help: { type: 'boolean', short: 'h' } } as const

/** @throws UsageError */
export function parseCommand(given: readonly string[]): ParsedCommand {
  const [name, ...rest] = given
  if (name === undefined || name === '-h' || name === '--help' || name === 'help') {
    const topic = rest[0] ?? null
    if (topic !== null && !Object.hasOwn(USAGES, topic)) throw new UsageError(`there is no command ${JSON.stringify(topic)}`, null)
    return { name: 'help', topic }
  }
  if (name === '-v' || name === '--version') return { name: 'version' }
  if (!Object.hasOwn(USAGES, name)) throw new UsageError(`there is no command ${JSON.stringify(name)}`, null)
  const end = rest.indexOf('--')
  const own = end === -1 ? rest : rest.slice(0, end)
  const args = end === -1 ? [] : rest.slice(end + 1)
  try {
    return parseOwn(name, own, args)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    throw new UsageError(message.split('. ', 1)[0]!, name)
  }
}

function parseOwn(name: string, own: string[], args: readonly string[]): ParsedCommand {
  if (name === 'dev') return parseDev(own, args)
  if (name === 'explain') return parseExplain(own, args)
  if (name === 'openapi') return parseOpenApi(own, args)
  if (name === 'types') return parseTypes(own, args)
  if (name === 'completion') return parseCompletion(own)
  const { values, positionals } = parseArgs({ args: own, allowPositionals: true, options: { json: FLAG, export: TEXT, ...HELP } })
  if (values.help === true) return { name: 'help', topic: name }
  const file = onlyFile(name, positionals)
  return { name: name as 'routes' | 'limits', file, args, asJson: values.json === true, exportName: values.export ?? null }
}

function parseOpenApi(own: string[], args: readonly string[]): ParsedCommand {
  const { values, positionals } = parseArgs({ args: own, allowPositionals: true, options: { module: TEXT, export: TEXT, ...HELP } })
  if (values.help === true) return { name: 'help', topic: 'openapi' }
  return { name: 'openapi', file: onlyFile('openapi', positionals), args, exportName: values.export ?? null, module: values.module ?? null }
}

function parseTypes(own: string[], args: readonly string[]): ParsedCommand {
  const { values, positionals } = parseArgs({ args: own, allowPositionals: true, options: { output: { ...TEXT, short: 'o' }, ...HELP } })
  if (values.help === true) return { name: 'help', topic: 'types' }
  const [file = null, ...more] = [...positionals, ...args]
  if (more.length > 0) throw new UsageError(`one document, not also ${more.join(' ')}`, 'types')
  return { name: 'types', file: file === '-' ? null : file, out: values.output ?? null }
}

function parseCompletion(own: string[]): ParsedCommand {
  const { values, positionals } = parseArgs({ args: own, allowPositionals: true, options: HELP })
  if (values.help === true) return { name: 'help', topic: 'completion' }
  const shell = SHELLS.find((one) => one === positionals[0])
  if (shell === undefined || positionals.length > 1)
    throw new UsageError(`which shell? ${SHELLS.join(', ').replace(/, (\w+)$/, ' or $1')}`, 'completion')
  return { name: 'completion', shell }
}

function parseExplain(own: string[], args: readonly string[]): ParsedCommand {
  const { values, positionals } = parseArgs({
    args: own,
    allowPositionals: true,
    options: {
      header: { ...TEXTS, short: 'H' },
      data: { ...TEXT, short: 'd' },
      endpoint: TEXT,
      peer: TEXT,
      secure: FLAG,
      json: FLAG,
      export: TEXT,
      ...HELP,
    },
  })
  if (values.help === true) return { name: 'help', topic: 'explain' }
  const [file, ...request] = positionals
  if (file === undefined) throw new UsageError('which file has the server?', 'explain')
  const [method, url] = request.length === 1 ? [null, request[0]] : request
  if (url === undefined || request.length > 2) throw new UsageError('which request? Such as POST /users/5', 'explain')
  if (method === null && !/^(?:[/*]|https?:)/i.test(url))
    throw new UsageError(`${JSON.stringify(url)} is not a path such as /users/5`, 'explain')
  const headers = (values.header ?? []).map(headerOf)
  const { data = null, endpoint = null, peer = null } = values
  return {
    name: 'explain',
    file,
    args,
    exportName: values.export ?? null,
    asJson: values.json === true,
    request: { method: method ?? (data === null ? 'GET' : 'POST'), url, headers, data, endpoint, peer, isSecure: values.secure === true },
  }
}

function headerOf(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([^:]+):[ \t]*(.*)$/.exec(text) ?? []
  if (name === undefined) throw new UsageError(`-H ${JSON.stringify(text)} is not a field such as 'Accept: text/html'`, 'explain')
  return [name, value!]
}

function parseDev(own: string[], args: readonly string[]): ParsedCommand {
  const { values, positionals } = parseArgs({
    args: own,
    allowPositionals: true,
    options: { listen: TEXTS, watch: TEXTS, grace: TEXT, tls: FLAG, stdin: FLAG, export: TEXT, ...HELP },
  })
  if (values.help === true) return { name: 'help', topic: 'dev' }
  const { grace = String(GRACE_MS), listen = [], watch = [] } = values
  if (!/^\d{1,9}$/.test(grace)) throw new UsageError(`--grace ${grace} is not a number of milliseconds, such as 5000`, 'dev')
  return {
    name: 'dev',
    file: onlyFile('dev', positionals),
    args,
    exportName: values.export ?? null,
    listen: listen.map(placeOf),
    watch,
    graceMs: Number(grace),
    tls: values.tls === true,
    stdin: values.stdin === true,
  }
}

function placeOf(text: string): { readonly address: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:(?:\[([^\]]+)\]|([^:]+)):)?(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65535)
    throw new UsageError(`--listen ${text} is not a port, or an address and a port, such as 0.0.0.0:8080`, 'dev')
  return { address: bracketed ?? plain ?? DEFAULT_ADDRESS, port: Number(port) }
}

function onlyFile(name: string, positionals: readonly string[]): string {
  const [file, ...more] = positionals
  if (file === undefined) throw new UsageError('which file has the server?', name)
  if (more.length > 0) throw new UsageError(`one file, not also ${more.join(' ')}; arguments of the program follow --`, name)
  return file
}
