// The code behind each card of the pages: parts of the sources of this demo, as they are.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type HttpServer, Problem, t, text } from 'weirjs'

import { siteFolder } from './site-folder.ts'

/** For each card the file, and the texts with which the statements in it begin. */
const CARDS: Readonly<Record<string, readonly [file: string, ...statements: string[]]>> = {
  load: ['load-worker.ts', 'const SERVERS', 'function requestUntil'],
  cut: ['cut.ts', 'export function cut'],
  edit: ['edit.ts', 'export function edit', 'async function play', 'function startWeir'],
  gate: ['teams.ts', 'const signIn', 'const upload =', "teams.mapPost('/pictures'"],
  gallery: ['app.ts', 'server.use(compression(', 'server.use(staticFiles('],
  clock: ['clock.ts', 'export function clock'],
  chat: ['chat.ts', 'export function chat'],
  uploadStream: ['stream-upload-controller.ts', 'export class StreamUploadController'],
  upload: ['memory-upload-controller.ts', 'export class MemoryUploadController', 'function hasGoodExtension', 'function isSmall'],
  user: ['app.ts', 'const BoundUser', 'const user =', "server.mapGet('/users/:id'"],
  save: ['user-controller.ts', 'export class UserController'],
  page: ['app.ts', 'server.use(compression(', 'server.use(staticFiles('],
  team: ['teams.ts', 'const signIn', 'export function mapTeams'],
  picture: ['teams.ts', 'const signIn', 'const upload =', "teams.mapPost('/pictures'"],
  reading: ['gauge.ts', 'const station =', 'const reading =', 'const Reading =', 'const StoredReading =', "gauge.mapPost('/readings'"],
  photo: ['gauge.ts', 'const Photo =', 'const photo =', "gauge.mapPost('/photos'"],
  outline: ['gauge.ts', "gauge.mapPost('/outline'", 'function outlineOf'],
  level: ['gauge.ts', 'const place =', "gauge.mapGet('/level'"],
  keeper: ['gauge.ts', 'const KEEPERS', 'const Keeper =', 'const shown =', "gauge.mapGet('/keepers/:id'"],
  levels: ['gauge.ts', "gauge.mapGet('/levels'"],
  sluice: ['gauge.ts', 'function mapSluice'],
  deprecated: ['gauge.ts', 'const REPLACED_ON', "gauge.mapGet('/all-levels'"],
  explain: ['inside.ts', 'const asked =', "server.mapGet('/explain'"],
  whoami: ['app.ts', "server.mapGet('/whoami'"],
  search: ['search.ts', 'const Search =', 'export function mapSearch'],
  inside: ['inside.ts', "server.mapGet('/inside'", 'async function firstPiece'],
  records: ['records.ts', 'export function records', 'function shown'],
}

/** `GET /code/:card`. @throws if a statement is not in its file any more */
export function mapCode(server: HttpServer): void {
  const code = new Map(Object.entries(CARDS).map(([card, [file, ...statements]]) => [card, codeOf(file, statements)]))
  const shown = { card: t.string, summary: 'Shows the code of a card on the pages', answers: { 200: text(), 404: Problem } }
  server.mapGet('/code/:card', shown, ({ card }, { response }) => code.get(card) ?? response.notFound(`There is no card ${card}.`))
}

function codeOf(file: string, statements: readonly string[]): string {
  const lines = readFileSync(join(siteFolder(), '..', file), 'utf8').split(/\r?\n/)
  let code = `// examples/demo/${file}\n`
  let last = -1
  for (const begins of statements) {
    const [first, end] = rangeOf(lines, begins)
    if (first < 0) throw new Error(`examples/demo/${file} has no line that begins with ${begins}`)
    const indentation = indentationOf(lines[first]!)
    if (first !== last) code += '\n'
    for (const line of lines.slice(first, end)) code += `${line.slice(indentation)}\n`
    last = end
  }
  return code
}

/** A statement with the comments and decorators above it. It ends where a line has its indentation again. */
function rangeOf(lines: readonly string[], begins: string): readonly [first: number, end: number] {
  const start = lines.findIndex((line) => line.trimStart().startsWith(begins))
  let first = start
  while (/^\s*(?:\/\/|\/\*\*|\*|@)/.test(lines[first - 1] ?? '')) first--
  let end = start + 1
  if (indentationOf(lines[end] ?? '') > indentationOf(lines[start] ?? '')) {
    while (lines[end] === '' || indentationOf(lines[end]!) > indentationOf(lines[start]!)) end++
    end++
  }
  return [first, end]
}

function indentationOf(line: string): number {
  return line.search(/\S|$/)
}
