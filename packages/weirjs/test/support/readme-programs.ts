// The first programs of README.md and docs/guide/first-programs.md, as printed: their files, and the commands that start and call them.

import { readFileSync } from 'node:fs'

export interface ReadmeProgram {
  /** The heading above it. */
  readonly title: string
  /** Each file, by the name under which the reader should save it. */
  readonly files: ReadonlyMap<string, string>
  /** The commands to run before the program, and the one that starts it. */
  readonly commands: readonly string[]
}

export interface ReadmeCall {
  readonly command: string
  readonly prints: string
}

const page = readFileSync('docs/guide/first-programs.md', 'utf8')
const [, first] = /^## The first program\n([\s\S]*?)^## /m.exec(readFileSync('README.md', 'utf8'))!

/** Blocks of a text, each with the line before it: ```js after "Save this as `main.js`:". */
function blocksOf(text: string): { before: string; language: string; code: string }[] {
  const blocks = text.matchAll(/^(.*)\n\n```(\w+)\n([\s\S]*?)^```$/gm)
  return [...blocks].map(([, before, language, code]) => ({ before: before!, language: language!, code: code! }))
}

function programOf(section: string): ReadmeProgram {
  const blocks = blocksOf(section)
  const saved = blocks.flatMap(({ before, code }) => {
    const [, name] = /as `([\w.]+)`:$/.exec(before) ?? []
    return name === undefined ? [] : [[name, code] as const]
  })
  const start = blocks.find(({ before, language }) => language === 'sh' && /[Ss]tart it:$/.test(before))
  return { title: section.split('\n')[0]!, files: new Map(saved), commands: start?.code.trim().split(' && ') ?? [] }
}

export const README_PROGRAMS: readonly ReadmeProgram[] = page.split(/^## /m).slice(1).map(programOf)

/** Each command as printed, and below it the output, on lines that begin with `# `. */
function callsIn(text: string, program: string): ReadmeCall[] {
  const calls = text.matchAll(new RegExp(`^(${program} .*)\\n((?:# .*\\n)+)`, 'gm'))
  return [...calls].map(([, command, prints]) => ({ command: command!, prints: prints!.replace(/^# /gm, '') }))
}

export const README_CALLS: readonly ReadmeCall[] = callsIn(page, 'curl')
/** The program of README.md. */
export const FIRST_PROGRAM: ReadmeProgram = programOf(first!)
export const FIRST_CALLS: readonly ReadmeCall[] = callsIn(first!, 'curl')
/** What the command says of it. */
export const FIRST_COMMANDS: readonly ReadmeCall[] = callsIn(first!, 'npx')
