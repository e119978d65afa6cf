"use strict";
// Starts `loopdbg dap`, and shows where its loops are. All that is about debugging is in the adapter.
const vscode = require("vscode");

const TYPE = "loopdbg";

function activate(context) {
  const timeline = new Timeline();
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, { createDebugAdapterDescriptor: adapter }),
    vscode.debug.registerDebugConfigurationProvider(TYPE, { resolveDebugConfiguration: completed }),
    vscode.debug.registerDebugAdapterTrackerFactory(TYPE, {
      createDebugAdapterTracker: (session) => ({
        onDidSendMessage: (message) => message.event === "stopped" && timeline.refresh(session),
        onWillStopSession: () => timeline.clear(),
      }),
    }),
    vscode.languages.registerInlineValuesProvider({ scheme: "debug" }, { provideInlineValues: inlineValues }),
    vscode.window.registerTreeDataProvider("loopdbg.timeline", timeline),
    vscode.commands.registerCommand("loopdbg.debugFile", debugFile),
    vscode.commands.registerCommand("loopdbg.goto", goToIteration),
  );
}

/** The program; or the session of a Python process that waits for an editor. */
function adapter(session) {
  const { request, port } = session.configuration;
  if (request === "attach" && port !== undefined) {
    return new vscode.DebugAdapterServer(port, "127.0.0.1");
  }
  const settings = vscode.workspace.getConfiguration(TYPE);
  const [command, ...first] = settings.get("command");
  const trust = settings.get("trustScripts") ? ["--trust-script"] : [];
  // Keeps Python from importing what is in the open folder, which may be a download.
  return new vscode.DebugAdapterExecutable(command, [...first, "dap", ...trust], { env: { PYTHONSAFEPATH: "1" } });
}

/** What the iteration has made of each line, beside it. */
async function inlineValues(document, viewPort, context) {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== TYPE) {
    return [];
  }
  const told = await session.customRequest("loopdbg/inline", { frameId: context.frameId });
  return told.values
    .filter(({ line }) => line > viewPort.start.line && line <= viewPort.end.line + 1)
    .map(({ line, text }) => new vscode.InlineValueText(document.lineAt(line - 1).range, `= ${text}`));
}

/** What F5 without a launch.json means: the file that is open. A server on a port wants a token. */
async function completed(folder, config) {
  if (config.type || config.request || config.name) {
    return config.port === undefined && config.debugServer === undefined ? config : withToken(config);
  }
  const file = vscode.window.activeTextEditor?.document.fileName;
  return file && /\.(onnx|xml|py)$/.test(file)
    ? { type: TYPE, request: "launch", name: "Loops of this model", program: file }
    : undefined;
}

/** With the token that the server printed: of the configuration, of the environment, or typed. */
async function withToken(config) {
  const prompt = "The token that loopdbg printed";
  const token =
    config.token ||
    process.env.LOOPDBG_DAP_TOKEN ||
    (await vscode.window.showInputBox({ prompt, password: true, ignoreFocusOut: true }));
  return token ? { ...config, token } : undefined;
}

function debugFile(uri) {
  const file = (uri ?? vscode.window.activeTextEditor?.document.uri)?.fsPath;
  if (file === undefined) {
    return;
  }
  const what = file.endsWith(".loopdb") ? { request: "attach", trace: file } : { request: "launch", program: file };
  const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file));
  return vscode.debug.startDebugging(folder, { type: TYPE, name: "Loops of a model", ...what });
}

async function goToIteration() {
  const text = await vscode.window.showInputBox({
    prompt: "Go to the boundary before iteration",
    validateInput: (value) => (/^\d{1,18}$/.test(value) ? undefined : "a whole number from 0 on"),
  });
  if (text !== undefined) {
    await vscode.debug.activeDebugSession?.customRequest("loopdbg/goto", { iteration: Number(text) });
  }
}

/** The loops that run, and the branches of the timeline. */
class Timeline {
  constructor() {
    this.changed = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changed.event;
    this.items = [];
  }

  async refresh(session) {
    try {
      const told = await session.customRequest("loopdbg/timeline");
      this.items = [...told.loops.map(loopItem), ...(told.branches.length > 1 ? told.branches.map(branchItem) : [])];
    } catch {
      this.items = [];
    }
    this.changed.fire();
  }

  clear() {
    this.items = [];
    this.changed.fire();
  }

  getTreeItem(item) {
    return item;
  }

  getChildren(item) {
    return item === undefined ? this.items : [];
  }
}

function loopItem(loop) {
  const item = new vscode.TreeItem(loop.name);
  item.description = `iteration ${loop.iteration}${loop.tripCount === null ? "" : ` / ${loop.tripCount}`}`;
  item.iconPath = new vscode.ThemeIcon("sync");
  item.command = { command: "loopdbg.goto", title: "Go to iteration" };
  return item;
}

function branchItem(branch) {
  const item = new vscode.TreeItem(`branch ${branch.number}`);
  item.description = branch.edits.join(", ") || "the first run";
  item.iconPath = new vscode.ThemeIcon(branch.current ? "git-commit" : "git-branch");
  return item;
}

module.exports = { activate, deactivate: () => undefined };
