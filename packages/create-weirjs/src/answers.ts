// Finds out what a person wants to create: from the command line, or by asking.

import { parseArgs } from 'node:util'

export const TEMPLATES = ['api', 'app', 'local'] as const
export type Template = (typeof TEMPLATES)[number]

interface Answers {
  /** The folder, as it was given. */
  readonly folder: string
  readonly template: Template
  readonly install: boolean
  readonly git: boolean
}

export const USAGE = `npm create weirjs [folder] -- [options]

Creates a folder with a program that runs, its tests, and what a TypeScript editor needs.

  --template api     a contract, a typed client, an OpenAPI document and tests
  --template app     a page with sign-in, sessions, uploads and SQLite, ready to deploy
  --template local   a tool with a page that only its user can open
  --install          runs npm install; --no-install does not
  --git              runs git init; --no-git does not
  --yes              asks nothing: the template is api unless you choose one
  --help             prints this text
`

/** The command line is not valid. */
export class UsageError extends Error {}

interface Given {
  readonly folder: string | undefined
  readonly template: Template | undefined
  readonly install: boolean | undefined
  readonly git: boolean | undefined
  readonly asksNothing: boolean
}

/** @returns null for `--help`. @throws UsageError */
export function givenBy(args: readonly string[]): Given | null {
  const { values, positionals } = parsed(args)
  if (values.help === true) return null
  if (positionals.length > 1) throw new UsageError(`one folder, not ${positionals.length}: ${positionals.join(' ')}`)
  const { template, yes = false } = values
  if (template !== undefined && !isTemplate(template)) throw new UsageError(`there is no template "${template}": ${TEMPLATES.join(', ')}`)
  const [folder] = positionals
  if (folder !== undefined) checkFolder(folder)
  return {
    folder,
    template,
    install: wishOf(values, 'install'),
    git: wishOf(values, 'git'),
    asksNothing: yes,
  }
}

/** @returns undefined where a person is to be asked. @throws UsageError */
function wishOf(values: ReturnType<typeof parsed>['values'], name: 'install' | 'git'): boolean | undefined {
  const [wanted, unwanted] = [values[name] === true, values[`no-${name}`] === true]
  if (wanted && unwanted) throw new UsageError(`--${name} and --no-${name} exclude each other`)
  return unwanted ? false : wanted || values.yes === true || undefined
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: 'string', short: 't' },
        install: { type: 'boolean' },
        'no-install': { type: 'boolean' },
        git: { type: 'boolean' },
        'no-git': { type: 'boolean' },
        yes: { type: 'boolean', short: 'y' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function isTemplate(text: string): text is Template {
  return (TEMPLATES as readonly string[]).includes(text)
}

/** @throws UsageError for a folder whose name is not valid for a package */
function checkFolder(folder: string): void {
  if (packageNameOf(folder) === '') throw new UsageError(`"${folder}" gives no name for a package: use letters, digits and -`)
}

/** The last part of the path, in the form that npm accepts. */
export function packageNameOf(folder: string): string {
  const last = folder.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  return last
    .toLowerCase()
    .replace(/[^a-z0-9~]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** Asks for what was not given. @param ask returns the line that a person writes; empty for the default */
export async function complete(given: Given, ask: (question: string) => Promise<string>): Promise<Answers> {
  const { asksNothing } = given
  const folder = given.folder ?? (asksNothing ? 'weir-app' : (await ask('Folder (weir-app): ')).trim() || 'weir-app')
  checkFolder(folder)
  const template = given.template ?? (asksNothing ? 'api' : await askTemplate(ask))
  const install = given.install ?? (await isYes(ask, 'Run npm install now? (Y/n): '))
  const git = given.git ?? (await isYes(ask, 'Run git init? (Y/n): '))
  return { folder, template, install, git }
}

async function askTemplate(ask: (question: string) => Promise<string>): Promise<Template> {
  for (;;) {
    const text = (await ask('Template: api, app or local (api): ')).trim().toLowerCase() || 'api'
    if (isTemplate(text)) return text
  }
}

async function isYes(ask: (question: string) => Promise<string>, question: string): Promise<boolean> {
  return !/^n/i.test((await ask(question)).trim())
}
