// What the server plays on request, and shows to all pages while it runs.

/**
 * Begins it, or joins what is running.
 *
 * @param path both begins it, with POST, and is the stream of its states
 * @returns a promise that resolves when it is over, or rejects with why it could not be played
 */
export function play(path, onState) {
  return new Promise((resolve, reject) => {
    const stream = new EventSource(path)
    const end = (error) => {
      stream.close()
      if (error) reject(error)
      else resolve()
    }
    stream.onopen = async () => {
      try {
        const response = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })
        if (!response.ok) end(new Error(`The server has refused: ${response.status}.`))
      } catch {
        end(new Error('The server cannot be reached.'))
      }
    }
    const take = ({ data }) => {
      const state = JSON.parse(data)
      if (state?.error) end(new Error(`It has failed: ${state.error}.`))
      else onState(state)
    }
    stream.onmessage = take
    stream.addEventListener('over', (event) => {
      take(event) // who came late has seen no state yet
      end()
    })
    stream.onerror = () => end(new Error('The server cannot be reached.'))
  })
}

/**
 * Makes a button play something, one at a time. Meanwhile it only says that it is disabled: if it were, it would lose the focus. `Play` becomes
 * `Play again`.
 *
 * @returns a function that does what a click does
 */
export function playedBy(button, run) {
  const begin = async () => {
    if (button.ariaDisabled === 'true') return
    button.ariaDisabled = 'true'
    await run()
    button.ariaDisabled = 'false'
    if (button.textContent === 'Play') button.textContent = 'Play again'
  }
  button.addEventListener('click', begin)
  return begin
}
