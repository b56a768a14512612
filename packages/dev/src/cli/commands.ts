// Runs one command: reads its arguments, and prints what it finds out or why it cannot.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { AppFileError, appFileOf } from './app-file.ts'
import { completionOf, type ParsedCommand, parseCommand, type TypesCommand, UsageError, usageOf } from './arguments.ts'
import { develop } from './develop.ts'
import { limitsText } from './limits-facts.ts'
import { ownFolder } from './package-folder.ts'
import { askProgram, ProgramError } from './program.ts'
import { routesText } from './route-facts.ts'
import { TypesError, typesOf } from './types-of.ts'

/** A program that cannot be read, or that has failed. */
const FAILED = 1
/** An invalid command line. */
const MISUSED = 2

/** @returns the exit code */
export async function runCommand(given: readonly string[]): Promise<number> {
  try {
    const command = parseCommand(given)
    if (command.name === 'help') return print(usageOf(command.topic))
    if (command.name === 'version') return print(versionOf())
    if (command.name === 'completion') return print(completionOf(command.shell).trimEnd())
    if (command.name === 'types') return await writeTypes(command)
    return await runOn(command)
  } catch (error) {
    if (error instanceof UsageError) return complain(`${error.message}\n\n${usageOf(error.topic)}`, MISUSED)
    if (error instanceof AppFileError || error instanceof ProgramError || error instanceof TypesError)
      return complain(error.message, FAILED)
    throw error
  }
}

async function runOn(command: Exclude<ParsedCommand, { readonly name: 'help' | 'version' | 'types' | 'completion' }>): Promise<number> {
  const file = appFileOf(command.file)
  const { exportName, args } = command
  switch (command.name) {
    case 'routes': {
      const { routes } = await askProgram(file, args, { kind: 'routes', exportName })
      return print(command.asJson ? jsonOf(routes) : routesText(routes))
    }
    case 'limits': {
      const { limits } = await askProgram(file, args, { kind: 'limits', exportName })
      return print(command.asJson ? jsonOf(limits) : limitsText(limits))
    }
    case 'openapi': {
      const { document } = await askProgram(file, args, { kind: 'openapi', exportName, module: command.module })
      return print(document)
    }
    case 'explain': {
      const { text, explanation } = await askProgram(file, args, { kind: 'explain', exportName, request: command.request })
      return print(command.asJson ? jsonOf(explanation) : text)
    }
    case 'dev':
      return develop({ ...command, file })
  }
}

async function writeTypes(command: TypesCommand): Promise<number> {
  const declarations = await typesOf(command)
  if (declarations !== null) process.stdout.write(declarations)
  return 0
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function versionOf(): string {
  const { version } = JSON.parse(readFileSync(join(ownFolder(), 'package.json'), 'utf8')) as { readonly version: string }
  return version
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

function complain(text: string, code: number): number {
  process.stderr.write(`weir: ${text}\n`)
  return code
}
