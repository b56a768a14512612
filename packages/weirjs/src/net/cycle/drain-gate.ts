/** Makes a writer that has written enough wait until the client has read. */
export class DrainGate {
  #goOn: (() => void) | null = null

  get isClosed(): boolean {
    return this.#goOn !== null
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#goOn = resolve
    })
  }

  open(): void {
    const goOn = this.#goOn
    this.#goOn = null
    goOn?.()
  }
}
