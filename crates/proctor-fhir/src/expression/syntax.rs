//! Reads the text of an expression into a tree, by the precedence of FHIRPath.

use super::ExpressionError;
use super::lexer::{Token, tokens, unreadable};

/// An expression as it is written, before any type is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tree {
    /// A name that starts a path: an element of the context, or the type of the root.
    Name(String),
    /// `$this`.
    This,
    /// `%resource` or `%context`.
    Resource,
    Text(String),
    Number(String),
    Boolean(bool),
    Member(Box<Tree>, String),
    Index(Box<Tree>, usize),
    /// A function; without a subject it applies to the context.
    Call(Option<Box<Tree>>, String, Vec<Tree>),
    As(Box<Tree>, String),
    Is(Box<Tree>, String),
    Union(Box<Tree>, Box<Tree>),
    Equal(Box<Tree>, Box<Tree>),
    NotEqual(Box<Tree>, Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

/// How deep parentheses and arguments may nest; far beyond every real expression, and safe for the stack.
const DEEPEST: usize = 32;

/// How many tokens an expression may have, since each may make the tree one deeper; the longest official one has 325.
const LONGEST: usize = 600;

/// Reads the whole of `text`.
pub(super) fn parse(text: &str) -> Result<Tree, ExpressionError> {
    let tokens = tokens(text)?;
    if let Some((position, _)) = tokens.get(LONGEST) {
        return Err(unreadable(
            text,
            *position,
            "the end of a shorter expression",
        ));
    }
    let mut reader = Reader {
        text,
        tokens,
        next: 0,
        depth: 0,
    };
    let tree = reader.disjunction()?;
    match reader.peek() {
        None => Ok(tree),
        Some(_) => Err(reader.unexpected("an operator or the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

impl Reader<'_> {
    fn disjunction(&mut self) -> Result<Tree, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.unexpected("less nesting"));
        }
        let mut left = self.conjunction()?;
        while self.take_word("or") {
            left = Tree::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.comparison()?;
        while self.take_word("and") {
            left = Tree::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Tree, ExpressionError> {
        let left = self.union()?;
        if self.take(&Token::Equal) {
            return Ok(Tree::Equal(Box::new(left), Box::new(self.union()?)));
        }
        if self.take(&Token::NotEqual) {
            return Ok(Tree::NotEqual(Box::new(left), Box::new(self.union()?)));
        }
        Ok(left)
    }

    fn union(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.typed()?;
        while self.take(&Token::Pipe) {
            left = Tree::Union(Box::new(left), Box::new(self.typed()?));
        }
        Ok(left)
    }

    fn typed(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.path()?;
        loop {
            if self.take_word("as") {
                left = Tree::As(Box::new(left), self.type_name()?);
            } else if self.take_word("is") {
                left = Tree::Is(Box::new(left), self.type_name()?);
            } else {
                return Ok(left);
            }
        }
    }

    fn path(&mut self) -> Result<Tree, ExpressionError> {
        let mut left = self.start()?;
        loop {
            if self.take(&Token::Dot) {
                let name = self.name()?;
                left = if self.take(&Token::Open) {
                    self.call(Some(left), name)?
                } else {
                    Tree::Member(Box::new(left), name)
                };
            } else if self.take(&Token::OpenBracket) {
                let index = self.index()?;
                self.expect(&Token::CloseBracket, "`]`")?;
                left = Tree::Index(Box::new(left), index);
            } else {
                return Ok(left);
            }
        }
    }

    fn start(&mut self) -> Result<Tree, ExpressionError> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.unexpected("a path"));
        };
        self.next += 1;
        match token {
            Token::Open => {
                let inner = self.disjunction()?;
                self.expect(&Token::Close, "`)`")?;
                Ok(inner)
            }
            Token::Name(name) if self.take(&Token::Open) => self.call(None, name),
            Token::Name(name) if name == "true" => Ok(Tree::Boolean(true)),
            Token::Name(name) if name == "false" => Ok(Tree::Boolean(false)),
            Token::Name(name) => Ok(Tree::Name(name)),
            Token::This => Ok(Tree::This),
            Token::Variable(name)
                if matches!(name.as_str(), "resource" | "context" | "rootResource") =>
            {
                Ok(Tree::Resource)
            }
            Token::Text(text) => Ok(Tree::Text(text)),
            Token::Number(number) => Ok(Tree::Number(number)),
            Token::Variable(_)
            | Token::Dot
            | Token::Comma
            | Token::Close
            | Token::OpenBracket
            | Token::CloseBracket
            | Token::Pipe
            | Token::Equal
            | Token::NotEqual => {
                self.next -= 1;
                Err(self.unexpected("a path or a literal"))
            }
        }
    }

    /// The arguments of a function, after its opening parenthesis.
    fn call(&mut self, subject: Option<Tree>, name: String) -> Result<Tree, ExpressionError> {
        let mut arguments = Vec::new();
        if !self.take(&Token::Close) {
            arguments.push(self.disjunction()?);
            while self.take(&Token::Comma) {
                arguments.push(self.disjunction()?);
            }
            self.expect(&Token::Close, "`)`")?;
        }
        Ok(Tree::Call(subject.map(Box::new), name, arguments))
    }

    /// A type, with or without its namespace.
    fn type_name(&mut self) -> Result<String, ExpressionError> {
        let name = self.name()?;
        if matches!(name.as_str(), "FHIR" | "System") && self.take(&Token::Dot) {
            self.name()
        } else {
            Ok(name)
        }
    }

    fn name(&mut self) -> Result<String, ExpressionError> {
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn index(&mut self) -> Result<usize, ExpressionError> {
        let parsed = match self.peek() {
            Some(Token::Number(digits)) => digits.parse().ok(),
            _ => None,
        };
        let index = parsed.ok_or_else(|| self.unexpected("a whole number"))?;
        self.next += 1;
        Ok(index)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(name)) if name == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, token: &Token, described: &'static str) -> Result<(), ExpressionError> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.unexpected(described))
        }
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let position = self
            .tokens
            .get(self.next)
            .map_or(self.text.len(), |(position, _)| *position);
        unreadable(self.text, position, expected)
    }
}
