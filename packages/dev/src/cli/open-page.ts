// Opens a page in the browser of whoever has asked for it.

import { spawn } from 'node:child_process'

import { launch } from 'weirjs/kit'

const COMMANDS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** @param onFailure gets why no browser opens */
export function openPage(url: string, onFailure: (why: string) => void): void {
  const [command, ...args] = COMMANDS[process.platform] ?? (['xdg-open'] as const)
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
