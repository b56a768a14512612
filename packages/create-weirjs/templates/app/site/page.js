const part = (id) => document.getElementById(id)

async function call(path, options) {
  const response = await fetch(`/api/${path}`, options)
  if (response.ok) return response.status === 204 ? null : response.json()
  const problem = await response.json().catch(() => ({}))
  throw new Error(problem.detail ?? problem.title ?? `The server answered ${response.status}.`)
}

async function show() {
  const me = await call('me').catch(() => null)
  part('enter').hidden = me !== null
  part('files').hidden = me === null
  if (me === null) return
  part('name').textContent = me.name
  const files = await call('files')
  part('list').replaceChildren(
    ...files.map(({ id, name, size }) => {
      const link = Object.assign(document.createElement('a'), { href: `/api/files/${id}`, textContent: name })
      const item = document.createElement('li')
      item.append(link, ` ${size.toLocaleString()} bytes`)
      return item
    }),
  )
}

/** Runs what a person has asked for, and says what went wrong. */
async function act(work) {
  part('message').textContent = ''
  try {
    await work()
    await show()
  } catch (error) {
    part('message').textContent = error.message
  }
}

part('enter').onsubmit = (event) => {
  event.preventDefault()
  act(() => call(event.submitter.value, { method: 'POST', body: new URLSearchParams(new FormData(event.target)) }))
}
part('leave').onclick = () => act(() => call('sign-out', { method: 'POST' }))
part('upload').onchange = () =>
  act(async () => {
    const body = new FormData()
    for (const file of part('upload').files) body.append('file', file)
    await call('files', { method: 'POST', body })
    part('upload').value = ''
  })
show()
