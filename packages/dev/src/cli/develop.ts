// `weir dev`: runs a program, and runs it again when a source file has changed. The listening sockets stay open in this process, so clients
// that connect in the meantime wait.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { styleText } from 'node:util'

import { launch } from 'weirjs/kit'

import type { DevelopCommand } from './arguments.ts'
import { type CertificateFiles, certificateFolder, certificateIn } from './certificate.ts'
import { HeldSockets } from './held-sockets.ts'
import { Keys } from './keys.ts'
import type { Link, News } from './messages.ts'
import { ENVIRONMENT_FILE } from './program.ts'
import { Run } from './run.ts'
import { SourceWatch } from './source-watch.ts'

/** @returns the exit code */
export async function develop(command: DevelopCommand): Promise<number> {
  return await new Development(command).play()
}

/** How long a program may take to start its other servers, once the first one listens. */
const OTHER_SERVERS_MS = 1_000
/** Clears the screen and what has left it, and goes to its top. */
const CLEAR = '\x1b[2J\x1b[3J\x1b[H'

/** What opens a page; elsewhere, `xdg-open`. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** The events of a run. */
type Event =
  /** The file is null if somebody has asked for a restart. */
  | { readonly kind: 'changed'; readonly file: string | null }
  | { readonly kind: 'ended'; readonly how: string }
  | { readonly kind: 'lacks'; readonly places: Extract<News, { readonly weir: 'places' }>['places'] }
  | { readonly kind: 'signal' }

class Development {
  readonly #command: DevelopCommand
  readonly #sockets = new HeldSockets()
  readonly #root: string
  readonly #watch: SourceWatch
  readonly #compiled: string | null
  #tls: CertificateFiles | null = null
  readonly #signal: Promise<Event>
  #onSignal: (signal?: NodeJS.Signals) => void = () => {}
  #signals = 0
  /** Null without a terminal, and where the program gets what is typed. */
  #keys: Keys | null = null
  /** Restarts the current run. */
  #onAsked: () => void = () => {}
  #run: Run | null = null
  /** The process of the next run. Node and weir are loaded before it is needed. */
  #next: Run | null = null
  /** The routes of the last run that listened. */
  #routes: readonly string[] | null = null
  /** Of all runs: a page that is open stays signed in. */
  readonly #token = launch.newLaunchToken()
  /** The printed links, by their addresses. They stay the same over restarts. */
  readonly #links = new Map<string, Link>()
  /** Where the servers of the last run that listened are. */
  #urls: readonly string[] = []
  /** Null until a server has started. */
  #takesInherited: boolean | null = null
  /** When the current run was asked for. */
  #askedAt = performance.now()

  constructor(command: DevelopCommand) {
    this.#command = command
    const root = sourceFolder(command.file)
    this.#root = root
    this.#compiled = compileCacheIn(root)
    const extra = command.watch.map((path) => resolve(path))
    this.#watch = new SourceWatch(root, extra, ENVIRONMENT_FILE)
    this.#watch.onPage = () => this.#run?.reloadPages()
    if (this.#watch.isIncomplete) tell(`there are too many folders in ${root}: some are not watched`)
    this.#signal = new Promise((settle) => {
      this.#onSignal = (signal) => {
        if (++this.#signals > 1) this.#run?.kill()
        else if (signal === 'SIGTERM') tell('it stops, because of SIGTERM') // the person who presses Ctrl+C knows
        settle({ kind: 'signal' })
      }
    })
    process.on('SIGINT', this.#onSignal)
    process.on('SIGTERM', this.#onSignal)
    process.on('SIGHUP', this.#onSignal)
    process.on('disconnect', this.#onSignal) // the process that has started the command with a channel has ended
    process.channel?.unref()
  }

  async play(): Promise<number> {
    try {
      if (this.#command.tls) this.#tls = certificateIn(certificateFolder(), tell)
      if (!HeldSockets.isPossible) tell('sockets cannot be passed on here: clients that connect during a restart are refused')
      else await this.#sockets.openInherited(this.#command.listen)
      if (!this.#command.stdin && Keys.arePossible()) this.#keys = new Keys((line) => this.#press(line))
      tell(`${styled('bold', basename(this.#command.file))} starts again when you save a file; Ctrl+C stops it`)
      while (await this.#runOnce());
      return 0
    } catch (error) {
      tell((error as Error).message)
      return 1
    } finally {
      this.#keys?.close()
      this.#run?.kill()
      this.#dropNext()
      this.#watch.close()
      this.#sockets.close()
    }
  }

  /** @returns whether to run the program again */
  async #runOnce(): Promise<boolean> {
    const { graceMs } = this.#command
    this.#watch.forget()
    let onLacks: (event: Event) => void = () => {}
    const lacks = new Promise<Event>((settle) => (onLacks = settle))
    const run = this.#next ?? this.#newRun()
    this.#next = null
    this.#run = run
    run.onNews = (news) => {
      if (news.weir === 'places') onLacks({ kind: 'lacks', places: news.places })
      else if (news.weir === 'listening') this.#greet(news)
    }
    run.begin(this.#token)
    const asked = new Promise<null>((settle) => (this.#onAsked = () => settle(null)))
    const changed = Promise.race([asked, this.#watch.next()]).then((file): Event => ({ kind: 'changed', file }))
    const ended = run.ended.then((how): Event => ({ kind: 'ended', how }))
    const event = await Promise.race([this.#signal, lacks, changed, ended])
    this.#askedAt = performance.now()
    switch (event.kind) {
      case 'signal':
        await run.stop(graceMs)
        return false
      case 'lacks':
        this.#dropNext() // it lacks them too
        await run.stop(0)
        return this.#openAll(event.places, changed)
      case 'changed':
        tell(event.file === null ? 'it restarts' : `${event.file} has changed`)
        if (event.file !== null && resolve(this.#root, event.file) === ENVIRONMENT_FILE) this.#dropNext() // it has read what was there before
        await run.stop(graceMs)
        return this.#signals === 0
      case 'ended':
        tell(`${styled('red', `the program has ended (${event.how})`)}; it starts again when a file changes`)
        return this.#awaitChange(changed)
    }
  }

  #newRun(): Run {
    const { file, args, exportName } = this.#command
    const hasInput = this.#keys === null
    return new Run({ file, args, exportName, sockets: this.#sockets, compileCache: this.#compiled, tls: this.#tls, hasInput })
  }

  #dropNext(): void {
    this.#next?.kill()
    this.#next = null
  }

  async #openAll(places: Extract<Event, { readonly kind: 'lacks' }>['places'], changed: Promise<Event>): Promise<boolean> {
    try {
      for (const { key, place } of places) await this.#sockets.open(key, place)
      tell('it starts once more, with sockets that stay open from now on')
      return this.#signals === 0
    } catch (error) {
      tell(`${(error as Error).message}; it starts again when a file changes`)
      return this.#awaitChange(changed)
    }
  }

  async #awaitChange(changed: Promise<Event>): Promise<boolean> {
    const event = await Promise.race([this.#signal, changed])
    this.#askedAt = performance.now()
    return event.kind === 'changed'
  }

  #greet({ urls, routes, links, takesInherited }: Extract<News, { readonly weir: 'listening' }>): void {
    if (this.#takesInherited === null) setTimeout(() => this.#checkListen(), OTHER_SERVERS_MS).unref()
    this.#takesInherited ||= takesInherited
    const ms = Math.round(performance.now() - this.#askedAt)
    this.#next ??= this.#newRun()
    tell(`${styled('cyan', urls.join(', '))}, ${routes.length} ${routes.length === 1 ? 'route' : 'routes'}, ready in ${ms} ms`)
    for (const link of links) {
      if (this.#links.has(link.url)) continue
      this.#links.set(link.url, link)
      tell(`  ${link.name}: ${styled('cyan', link.url)}`)
    }
    this.#urls = urls.filter((url) => url.startsWith('http'))
    const before = this.#routes
    this.#routes = routes
    if (before === null) {
      if (this.#keys !== null) tell(`press ${styled('bold', 'h')} and Enter for help`)
      return
    }
    for (const route of routes) if (!before.includes(route)) tell(styled('green', `  + ${route}`))
    for (const route of before) if (!routes.includes(route)) tell(styled('red', `  - ${route}`))
  }

  /** @param line what somebody has typed in the terminal */
  #press(line: string): void {
    const keys = this.#keysNow()
    if (line === 'h') for (const [key, does] of keys) tell(`  ${styled('bold', key)}  ${does}`)
    else if (line !== '') (keys.find(([key]) => key === line)?.[2] ?? (() => tell('there is no such key: press h and Enter for help')))()
  }

  #keysNow(): (readonly [key: string, does: string, act: () => void])[] {
    const opens = (key: string, what: string, url: string | undefined) =>
      url === undefined
        ? []
        : [
            [
              key,
              `opens ${what}`,
              () => openPage(url, (why) => tell(`no browser has opened: ${why}; open ${styled('cyan', url)}`)),
            ] as const,
          ]
    const linked = (name: string) => [...this.#links.values()].find((link) => link.name === name)?.url
    const [url] = this.#urls
    return [
      ['r', 'restarts the program', () => this.#onAsked()],
      ...opens('o', String(url), url),
      ...opens('i', 'the inspector', linked('inspector')),
      ...opens('d', 'the documents', linked('documents')),
      ['c', 'clears the terminal', () => void process.stdout.write(CLEAR)],
      ['q', 'quits, as Ctrl+C does', () => this.#onSignal()],
    ]
  }

  /** Clients that connect to a socket that no server takes wait forever. */
  #checkListen(): void {
    if (this.#command.listen.length > 0 && this.#takesInherited !== true)
      tell("--listen has no effect: it is for programs with listen: 'inherited', and the options of this one say where it listens")
  }
}

/** The folder of the nearest package.json around the file; without one, the folder of the file. */
function sourceFolder(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
    if (folder === dirname(folder)) return dirname(file)
  }
}

/**
 * Where Node keeps the compiled code of a program; null if the sources have no `node_modules`. Node's own choice is in the folder for
 * temporary files, where another user of the machine could put code.
 */
function compileCacheIn(root: string): string | null {
  const modules = join(root, 'node_modules')
  return existsSync(modules) ? join(modules, '.cache', 'weir') : null
}

/** In a terminal, unless NO_COLOR is set. */
function styled(format: 'bold' | 'cyan' | 'green' | 'red', text: string): string {
  return styleText(format, text, { stream: process.stderr })
}

function tell(text: string): void {
  process.stderr.write(`weir: ${text}\n`)
}

/** Opens a page in the browser of whoever has asked for it. @param onFailure gets why no browser opens */
function openPage(url: string, onFailure: (why: string) => void): void {
  const [command, ...args] = OPENERS[process.platform] ?? (['xdg-open'] as const)
  const opener = spawn(command, [...args, forBrowser(url)], { stdio: 'ignore', detached: true })
  opener.on('error', (error) => onFailure(error.message)).unref()
  opener.on('exit', (code) => {
    if (code !== 0) onFailure(`${command} has failed`)
  })
}

/**
 * As a browser asks for it. Other users of the machine see the arguments of a command: in place of a token, it gets a ticket, which opens the page
 * once.
 */
function forBrowser(url: string): string {
  const [page, token] = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:').split('#token=')
  return token === undefined ? page! : `${page}#token=${launch.LaunchTickets.sign(token, Date.now())}`
}
